"""karpenter.sh/v1alpha5 Provisioner."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.amounts import seconds
from treenail.adapters.api.aws.v1alpha1_provider import ProviderModel, inline_provider
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.karpenter.pools import Weight, limits_of, template_of
from treenail.adapters.api.karpenter.references import ProviderRefModel, provider_of
from treenail.adapters.api.karpenter.requirements import OldRequirementModel
from treenail.adapters.api.kubelet import OldKubeletModel
from treenail.adapters.api.metadata import StrictObject, TemplateMetadata
from treenail.adapters.api.model import PlainQuantities, StrictModel
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.selectors import StrictTaintModel, dated
from treenail.domain.model import labels
from treenail.domain.model.node_classes import Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.node_pools import Budget, ConsolidationPolicy, Disruption, Generation
from treenail.domain.model.requirements import Operator, Requirement, Requirements

Seconds: TypeAlias = Annotated[int, Meta(ge=0)]

_DEFAULTS: Final = (
    Requirement(labels.OS, frozenset({"linux"})),
    Requirement(labels.ARCH, frozenset({"amd64"})),
    Requirement(labels.CAPACITY_TYPE, frozenset({labels.ON_DEMAND})),
)
_DEFAULT_TYPES: Final = (
    Requirement(labels.INSTANCE_CATEGORY, frozenset({"c", "m", "r"})),
    Requirement.of(labels.INSTANCE_GENERATION, Operator.GT, ("2",)),
)
# One of these says which types are meant, so that the default types are not.
_TYPE_KEYS: Final = (
    labels.INSTANCE_TYPE,
    labels.INSTANCE_FAMILY,
    labels.INSTANCE_CATEGORY,
    labels.INSTANCE_GENERATION,
)


class LimitsModel(StrictModel):
    """Limits on the resources of all nodes together."""

    resources: PlainQuantities | None = None


class ConsolidationModel(StrictModel):
    """A switch for the consolidation of nodes."""

    enabled: bool | None = None


class ProvisionerSpecModel(StrictModel):
    """The spec of a Provisioner."""

    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[StrictTaintModel, ...] = ()
    startup_taints: tuple[StrictTaintModel, ...] = ()
    requirements: tuple[OldRequirementModel, ...] = ()
    kubelet_configuration: OldKubeletModel | None = None
    provider: ProviderModel | None = None
    provider_ref: ProviderRefModel | None = None
    ttl_seconds_after_empty: Seconds | None = None
    ttl_seconds_until_expired: Seconds | None = None
    limits: LimitsModel | None = None
    weight: Weight | None = None
    consolidation: ConsolidationModel | None = None


class ProvisionerModel(StrictObject, kw_only=True):
    """karpenter.sh/v1alpha5 Provisioner. Its status is ours to write and not to read."""

    spec: ProvisionerSpecModel = field(default_factory=ProvisionerSpecModel)
    status: dict[str, Any] = field(default_factory=dict)


def provisioner(model: ProvisionerModel, _reading: Reading) -> Translation:
    """Return the pool, and the node class if the Provisioner contains a provider.

    Raises:
        FieldError: something is wrong with it.
    """
    spec = model.spec
    own = TemplateMetadata(labels=spec.labels, annotations=spec.annotations)
    taints = spec.taints, spec.startup_taints
    read = template_of(
        model.metadata, own, taints, spec.requirements, Generation.V1ALPHA5, own_at="spec", at="spec"
    )
    node_class, inline = _node_class(model)
    pool = read.pool(
        generation=Generation.V1ALPHA5,
        weight=spec.weight,
        node_class=node_class,
        kubelet=_kubelet(spec),
        limits=limits_of(spec.limits.resources if spec.limits else None, "spec.limits.resources"),
        disruption=_disruption(spec),
        not_acted_on=_not_acted_on(spec),
    )
    pool = replace(pool, requirements=with_defaults(pool.requirements))
    return Translation(objects=(pool, *inline), not_acted_on=pool.not_acted_on)


def with_defaults(requirements: Requirements) -> Requirements:
    """Return what the Provisioner means that says `requirements`: what it leaves open is not any type."""
    return requirements.with_(defaults_beside(requirements.keys()))


def defaults_beside(keys: Collection[str]) -> tuple[Requirement, ...]:
    """Return what a Provisioner means beside requirements of `keys`, which are normalized."""
    defaults = [r for r in _DEFAULTS if r.key not in keys]
    if not any(key in keys for key in _TYPE_KEYS):
        defaults.extend(_DEFAULT_TYPES)
    return tuple(defaults)


def _node_class(model: ProvisionerModel) -> tuple[NodeClassRef, tuple[NodeClass, ...]]:
    spec = model.spec
    if spec.provider is not None and spec.provider_ref is not None:
        raise FieldError("spec.providerRef", "cannot stand beside spec.provider")
    if spec.provider_ref is not None:
        return spec.provider_ref.value("spec.providerRef"), ()
    if spec.provider is None:
        raise FieldError("spec", "needs providerRef, or provider")
    ref = provider_of(model.metadata.name)
    return ref, (inline_provider(spec.provider, ref, model.metadata, "spec.provider"),)


def _kubelet(spec: ProvisionerSpecModel) -> Kubelet | None:
    own = spec.kubelet_configuration
    return own.value("spec.kubeletConfiguration", container_runtime=own.container_runtime) if own else None


# Nodes with pods go as those of a NodePool do that says no budget; empty ones all at once.
_WITH_PODS: Final = Budget(percent=10, reasons=("Drifted", "Expired", "Underutilized"))


def _disruption(spec: ProvisionerSpecModel) -> Disruption:
    empty, expired = spec.ttl_seconds_after_empty, spec.ttl_seconds_until_expired
    consolidated = bool(spec.consolidation and spec.consolidation.enabled)
    if consolidated and empty is not None:
        raise FieldError("spec.ttlSecondsAfterEmpty", "cannot stand beside spec.consolidation.enabled")
    # Where nodes are consolidated, empty ones go at once, as others do.
    after = 0 if consolidated else empty
    policy = (
        ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED if consolidated else ConsolidationPolicy.WHEN_EMPTY
    )
    return Disruption(
        policy=policy,
        consolidate_after=None if after is None else seconds(after, "spec.ttlSecondsAfterEmpty"),
        expire_after=None if expired is None else seconds(expired, "spec.ttlSecondsUntilExpired"),
        budgets=(_WITH_PODS,),
    )


def _not_acted_on(spec: ProvisionerSpecModel) -> Iterator[str]:
    yield from dated(spec.taints, spec.startup_taints, "spec")
