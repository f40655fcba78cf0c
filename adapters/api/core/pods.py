"""Pods."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import field

from treenail.adapters.api.core.pod_model import PodSpecModel
from treenail.adapters.api.core.pod_specs import without_field_terms
from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.interning import interned
from treenail.adapters.api.metadata import CoreConditionModel, CoreObject
from treenail.adapters.api.model import Model, Time
from treenail.adapters.api.names import is_subdomain
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.instants import in_utc
from treenail.domain.model.nodes import Status
from treenail.domain.model.pods import Phase, Pod

_PHASES: Final = frozenset(Phase)


class ResourceClaimStatusModel(Model, kw_only=True):
    """The ResourceClaim that was made from a template; no name where none is needed."""

    name: str
    resource_claim_name: str = ""


class PodStatusModel(Model):
    """The phase of a pod. Unknown is a pod whose node is lost: it may still run.

    So does one in a phase that we do not know.
    """

    phase: str = ""
    conditions: tuple[CoreConditionModel, ...] = ()
    nominated_node_name: str = ""
    start_time: Time | None = None
    resource_claim_statuses: tuple[ResourceClaimStatusModel, ...] = ()

    def condition(self, kind: str) -> CoreConditionModel | None:
        return next((c for c in self.conditions if c.type == kind), None)

    @property
    def value(self) -> Phase:
        if not self.phase:
            return Phase.PENDING
        return Phase(self.phase) if self.phase in _PHASES else Phase.RUNNING


class PodModel(CoreObject, kw_only=True):
    """v1 Pod."""

    spec: PodSpecModel
    status: PodStatusModel = field(default_factory=PodStatusModel)


def pod(model: PodModel, reading: Reading) -> Translation:
    """Return the pod; FieldError says what is wrong with it. Without a uid it is named by its key."""
    meta, status = model.metadata, model.status
    meta.validate()
    namespace = meta.namespace or "default"
    node_name = model.spec.node_name
    if node_name and not is_subdomain(node_name):
        raise FieldError("spec.nodeName", f"{quoted(node_name)} is not a DNS name")
    if any(o.kind == "DaemonSet" for o in meta.owner_references):
        without_field_terms(model.spec)
    created_at = meta.created(reading.at)
    scheduled = status.condition("PodScheduled")
    ready = status.condition("Ready")
    found = Pod(
        uid=meta.uid or f"{namespace}/{meta.name}",
        name=meta.name,
        namespace=interned(namespace),
        resource_version=meta.version,
        labels=meta.labels,
        annotations=meta.annotations,
        owners=meta.owners,
        spec=reading.specs.of_pod(model.spec, meta.labels),
        created_at=created_at,
        deleting_since=meta.deleting_since,
        phase=status.value,
        node_name=interned(node_name),
        nominated_node=status.nominated_node_name,
        unschedulable_since=_unschedulable_since(scheduled, created_at),
        scheduled_at=_scheduled_at(scheduled),
        started_at=in_utc(status.start_time) if status.start_time else None,
        ready=ready is not None and ready.status == Status.TRUE,
        claims_made=tuple((made.name, made.resource_claim_name) for made in status.resource_claim_statuses),
    )
    return Translation(objects=(found,))


def _unschedulable_since(scheduled: CoreConditionModel | None, created_at: datetime) -> datetime | None:
    if scheduled is None or scheduled.reason != "Unschedulable":
        return None
    since = scheduled.last_transition_time
    return in_utc(since) if since else created_at


def _scheduled_at(scheduled: CoreConditionModel | None) -> datetime | None:
    if scheduled is None or scheduled.status != Status.TRUE or scheduled.last_transition_time is None:
        return None
    return in_utc(scheduled.last_transition_time)
