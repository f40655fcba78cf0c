"""Workloads that make pods: Deployments, ReplicaSets, StatefulSets and DaemonSets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypedDict

from msgspec import field

from treenail.adapters.api.core.pod_model import PodSpecModel, RestartPolicy
from treenail.adapters.api.core.storage import PersistentVolumeClaimModel, volume_claim
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import CoreObject, ObjectMeta, TemplateMetadata
from treenail.adapters.api.model import Model
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.selectors import LabelSelectorModel
from treenail.adapters.api.workloads import MOST_REPLICAS, Deployment, ReplicaSet, StatefulSet
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model.pod_templates import PodTemplate
from treenail.domain.model.pods import LabelSelector

_TEMPLATE: Final = "spec.template"


class PodTemplateModel(Model, kw_only=True):
    """The template that pods are made from."""

    metadata: TemplateMetadata = field(default_factory=TemplateMetadata)
    spec: PodSpecModel


class WorkloadSpecModel(Model, kw_only=True):
    """The fields that the specs of all these kinds have in common."""

    selector: LabelSelectorModel
    template: PodTemplateModel


class ReplicatedSpecModel(WorkloadSpecModel, kw_only=True):
    """The spec of a Deployment or ReplicaSet."""

    replicas: int = 1


class StatefulSetSpecModel(ReplicatedSpecModel, kw_only=True):
    """The spec of a StatefulSet."""

    volume_claim_templates: tuple[PersistentVolumeClaimModel, ...] = ()
    pod_management_policy: Literal["OrderedReady", "Parallel"] = "OrderedReady"


class DeploymentModel(CoreObject, kw_only=True):
    """apps/v1 Deployment."""

    spec: ReplicatedSpecModel


class ReplicaSetModel(CoreObject, kw_only=True):
    """apps/v1 ReplicaSet."""

    spec: ReplicatedSpecModel


class StatefulSetStatusModel(Model):
    """The status that the controller writes for a StatefulSet."""

    update_revision: str = ""


class StatefulSetModel(CoreObject, kw_only=True):
    """apps/v1 StatefulSet."""

    spec: StatefulSetSpecModel
    status: StatefulSetStatusModel = field(default_factory=StatefulSetStatusModel)


class DaemonSetModel(CoreObject, kw_only=True):
    """apps/v1 DaemonSet."""

    spec: WorkloadSpecModel


def deployment(model: DeploymentModel, reading: Reading) -> Translation:
    """Return the Deployment; FieldError says what is wrong with it."""
    meta = checked(model.metadata)
    found = Deployment(**meta.labelled, **_replicated(model.spec, meta, reading))
    return Translation(objects=(found,))


def replica_set(model: ReplicaSetModel, reading: Reading) -> Translation:
    """Return the ReplicaSet; FieldError says what is wrong with it."""
    meta = checked(model.metadata)
    found = ReplicaSet(**meta.labelled, **_replicated(model.spec, meta, reading), owners=meta.owners)
    return Translation(objects=(found,))


def stateful_set(model: StatefulSetModel, reading: Reading) -> Translation:
    """Return the StatefulSet; FieldError says what is wrong with it."""
    meta = checked(model.metadata)
    spec = model.spec
    claims = (
        volume_claim(m, meta.namespace, f"spec.volumeClaimTemplates[{n}].")
        for n, m in enumerate(spec.volume_claim_templates)
    )
    found = StatefulSet(
        **meta.labelled,
        **_replicated(spec, meta, reading),
        volume_claim_templates=tuple(claims),
        parallel=spec.pod_management_policy == "Parallel",
        revision=model.status.update_revision,
    )
    return Translation(objects=(found,))


def daemon_set(model: DaemonSetModel, reading: Reading) -> Translation:
    """Return the DaemonSet; FieldError says what is wrong with it."""
    meta = checked(model.metadata)
    _selector(model.spec)
    template = template_of(model.spec.template, reading, _TEMPLATE, restart=("Always",))
    found = DaemonSet(
        uid=meta.uid or f"{meta.namespace}/{meta.name}",
        name=meta.name,
        namespace=meta.namespace,
        resource_version=meta.version,
        template_labels=template.labels,
        template_annotations=template.annotations,
        spec=template.spec,
    )
    return Translation(objects=(found,))


def checked(meta: ObjectMeta) -> ObjectMeta:
    """Return metadata with a namespace; FieldError says what is wrong with it."""
    meta.validate()
    meta.namespace = meta.namespace or "default"
    return meta


class _Replicated(TypedDict):
    namespace: str
    replicas: int
    selector: LabelSelector
    template: PodTemplate


def _replicated(spec: ReplicatedSpecModel, meta: ObjectMeta, reading: Reading) -> _Replicated:
    return {
        "namespace": meta.namespace,
        "replicas": _replicas(spec),
        "selector": _selector(spec),
        "template": template_of(spec.template, reading, _TEMPLATE, restart=("Always",)),
    }


def _replicas(spec: ReplicatedSpecModel) -> int:
    if spec.replicas < 0:
        raise FieldError("spec.replicas", f"{spec.replicas} must not be negative")
    if spec.replicas > MOST_REPLICAS:
        raise FieldError("spec.replicas", f"{spec.replicas} is absurdly many: the limit is {MOST_REPLICAS}")
    return spec.replicas


def _selector(spec: WorkloadSpecModel) -> LabelSelector:
    selector = spec.selector.value("spec.selector")
    if not selector.match_labels and not selector.expressions:
        raise FieldError("spec.selector", "is empty: it must select the template's labels")
    if not selector.selects(spec.template.metadata.labels):
        raise FieldError("spec.selector", "matches nothing: the template's labels are not what it selects")
    return selector


def template_of(
    model: PodTemplateModel, reading: Reading, at: str, *, restart: Sequence[RestartPolicy] = ()
) -> PodTemplate:
    """Return the template at the path `at`; `restart` are the policies allowed, if not all.

    Raises:
        FieldError: something is wrong with it.
    """
    model.metadata.check(f"{at}.metadata")
    return PodTemplate(
        labels=model.metadata.labels,
        annotations=model.metadata.annotations,
        spec=reading.specs.of(model.spec, f"{at}.spec", restart=restart),
    )
