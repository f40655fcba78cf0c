"""Fields that the pools of all generations share, and their translation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from treenail.adapters.api.amounts import MOST_IN_ALL, dollars_an_hour, resources, time_span
from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.karpenter.requirements import AnyRequirement, Read, check_pool_labels, of_pool
from treenail.adapters.api.metadata import ObjectMeta, TemplateMetadata
from treenail.adapters.api.model import PlainQuantities
from treenail.adapters.api.names import check_annotations
from treenail.adapters.api.selectors import StrictTaintModel, node_taints
from treenail.domain.model import labels
from treenail.domain.model.node_classes import Kubelet, NodeClassRef
from treenail.domain.model.node_pools import Disruption, Generation, NodePool
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Taint

TEMPLATE: Final = "spec.template.spec"

Weight: TypeAlias = Annotated[int, Meta(ge=1, le=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTemplate:
    """The checked template of a pool: the metadata and taints of its nodes, and requirements on them."""

    meta: ObjectMeta
    own: TemplateMetadata
    requirements: Read
    taints: tuple[Taint, ...]
    startup_taints: tuple[Taint, ...]

    def pool(
        self,
        *,
        generation: Generation = Generation.V1,
        weight: int | None,
        node_class: NodeClassRef,
        kubelet: Kubelet | None = None,
        limits: Resources | None,
        disruption: Disruption,
        not_acted_on: Iterable[str],
    ) -> NodePool:
        """Return the pool. What its requirements set that is not acted on is named after `not_acted_on`."""
        return NodePool(
            **self.meta.identity,
            generation=generation,
            weight=weight or 0,
            labels=self.own.labels,
            annotations=self.own.annotations,
            taints=self.taints,
            startup_taints=self.startup_taints,
            requirements=self.requirements.requirements,
            node_class=node_class,
            kubelet=kubelet,
            limits=limits,
            disruption=disruption,
            node_overhead_cost=_overhead_cost(self.meta.annotations),
            payback=_payback(self.meta.annotations),
            return_premium=_return_premium(self.meta.annotations),
            for_pods_only=_for_pods_only(self.meta.annotations),
            min_nodes=_min_nodes(self.meta.annotations),
            deleting=self.meta.deletion_timestamp is not None,
            not_acted_on=(*not_acted_on, *self.requirements.not_acted_on),
        )


def template_of(
    meta: ObjectMeta,
    own: TemplateMetadata,
    taints: tuple[Sequence[StrictTaintModel], Sequence[StrictTaintModel]],
    requirements: Sequence[AnyRequirement],
    version: Generation,
    *,
    own_at: str = "spec.template.metadata",
    at: str = TEMPLATE,
) -> PoolTemplate:
    """Return the template of a pool of `version`: its `own` metadata stand at `own_at`, the rest at `at`.

    Raises:
        FieldError: something is wrong with it, or with `meta`.
    """
    meta.validate()
    check_pool_labels(own.labels, f"{own_at}.labels", version)
    check_annotations(own.annotations, f"{own_at}.annotations")
    read = of_pool(requirements, f"{at}.requirements", version)
    lasting, startup = node_taints(*taints, at)
    return PoolTemplate(meta=meta, own=own, requirements=read, taints=lasting, startup_taints=startup)


def _overhead_cost(annotations: Mapping[str, str]) -> float | None:
    """Return what a pool says that each of its nodes costs beside price and volumes, None where nothing."""
    written = annotations.get(labels.NODE_OVERHEAD_COST)
    if written is None:
        return None
    try:
        return dollars_an_hour(written)
    except ValueError as error:
        at = f"metadata.annotations[{labels.NODE_OVERHEAD_COST}]"
        raise FieldError(at, f"{quoted(written)} {error}") from None


def _payback(annotations: Mapping[str, str]) -> timedelta | None:
    """Return the time within which a consolidation must have saved what it costs, if a pool says so."""
    written = annotations.get(labels.PAYBACK)
    if written is None:
        return None
    try:
        return time_span(written)
    except ValueError as error:
        raise FieldError(f"metadata.annotations[{labels.PAYBACK}]", f"{quoted(written)} {error}") from None


def _for_pods_only(annotations: Mapping[str, str]) -> bool:
    """Return whether a pool is to buy nothing for pods that are still to be made."""
    written = annotations.get(labels.PROVISION_FOR, "wishes")
    if written not in ("wishes", "pods"):
        at = f"metadata.annotations[{labels.PROVISION_FOR}]"
        raise FieldError(at, f"{quoted(written)} is neither wishes nor pods")
    return written == "pods"


def _min_nodes(annotations: Mapping[str, str]) -> int:
    """Return how many nodes a pool is to have at least, 0 where it does not say."""
    written = annotations.get(labels.MIN_NODES, "0")
    if re.fullmatch(r"\d{1,9}", written, re.ASCII) is None:
        at = f"metadata.annotations[{labels.MIN_NODES}]"
        raise FieldError(at, f"{quoted(written)} is not a number of nodes (such as 3)")
    return int(written)


def _return_premium(annotations: Mapping[str, str]) -> float | None:
    """Return by which share a return to a pool of higher weight may cost more, None where there is none."""
    written = annotations.get(labels.RETURN)
    if written is None:
        return None
    found = re.fullmatch(r"(\d\d?|100)%", written, re.ASCII)
    if found is None:
        raise FieldError(
            f"metadata.annotations[{labels.RETURN}]", f"{quoted(written)} is not a percentage from 0% to 100%"
        )
    return int(found[1]) / 100


def limits_of(quantities: PlainQuantities | None, at: str) -> Resources | None:
    """Return the limits of a pool, None where it has none; FieldError says which is no amount."""
    return None if quantities is None else resources(quantities, at, most=MOST_IN_ALL)
