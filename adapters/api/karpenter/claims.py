"""Fields that the claims of all generations share, and their translation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import field

from treenail.adapters.api.amounts import resources
from treenail.adapters.api.karpenter.requirements import AnyRequirement, of_claim
from treenail.adapters.api.metadata import ConditionModel, ObjectMeta
from treenail.adapters.api.model import PlainQuantities, StrictModel
from treenail.adapters.api.reading import Reading
from treenail.adapters.api.selectors import StrictTaintModel, dated, node_taints
from treenail.domain.model import labels
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import Condition, NodeClaim
from treenail.domain.model.requirements import Operator, Requirements

# Conditions by the names Machines have for them.
MACHINE_CONDITIONS: Final[Mapping[str, str]] = {
    name: "Machine" + name
    for name in ("Launched", "Registered", "Initialized", "Drifted", "Empty", "Expired")
}
_FROM_MACHINE: Final = {old: name for name, old in MACHINE_CONDITIONS.items()}


class RequestsModel(StrictModel):
    """The resources that the pods request for which the claim was made."""

    requests: PlainQuantities = field(default_factory=dict)


class ClaimSpecModel(StrictModel):
    """The spec of a claim: the fields that all generations write alike."""

    resources: RequestsModel = field(default_factory=RequestsModel)
    taints: tuple[StrictTaintModel, ...] = ()
    startup_taints: tuple[StrictTaintModel, ...] = ()

    def dated_taints(self) -> Iterator[str]:
        """Yield the paths of the times that taints say."""
        return dated(self.taints, self.startup_taints, "spec")


class ClaimStatusModel(StrictModel):
    """The status of a claim, without its conditions."""

    node_name: str = ""
    provider_id: str = field(default="", name="providerID")
    image_id: str = field(default="", name="imageID")
    capacity: PlainQuantities = field(default_factory=dict)
    allocatable: PlainQuantities = field(default_factory=dict)


def claim(
    meta: ObjectMeta,
    spec: ClaimSpecModel,
    status: ClaimStatusModel,
    reading: Reading,
    *,
    generation: Generation,
    node_class: NodeClassRef,
    requirements: Sequence[AnyRequirement],
    conditions: tuple[Condition, ...],
) -> NodeClaim:
    """Return the claim; FieldError says what is wrong with it."""
    meta.validate()
    lasting, startup = node_taints(spec.taints, spec.startup_taints, "spec")
    # The definition of Machines has no such rules, and that of claims had none before.
    anew = generation is Generation.V1 and not meta.uid
    read = of_claim(requirements, "spec.requirements", anew=anew)
    return NodeClaim(
        **meta.identity,
        generation=generation,
        pool=meta.labels.get(generation.pool_label, ""),
        node_class=node_class,
        labels=meta.labels,
        annotations=meta.annotations,
        owners=meta.owners,
        finalizers=meta.finalizers,
        taints=lasting,
        startup_taints=startup,
        requirements=read,
        instance_types=_instance_types(requirements, read),
        requests=resources(spec.resources.requests, "spec.resources.requests"),
        created_at=meta.created(reading.at),
        deleting_since=meta.deleting_since,
        provider_id=status.provider_id,
        node_name=status.node_name,
        image_id=status.image_id,
        capacity=resources(status.capacity, "status.capacity"),
        allocatable=resources(status.allocatable, "status.allocatable"),
        conditions=conditions,
    )


def _instance_types(written: Sequence[AnyRequirement], read: Requirements) -> tuple[str, ...]:
    """Return the types listed, in the order they are written: cheapest first, as the launch chose."""
    wanted = read.get(labels.INSTANCE_TYPE)
    if wanted is None or wanted.operator is not Operator.IN:
        return ()
    listed = (v for m in written if labels.normalized(m.key) == labels.INSTANCE_TYPE for v in m.values)
    return tuple(dict.fromkeys(v for v in listed if wanted.has(v)))


def from_machine(model: ConditionModel) -> Condition:
    """Return a Machine's condition under the name it has elsewhere."""
    own = model.value()
    name = _FROM_MACHINE.get(own.type, own.type)
    return Condition(type=name, status=own.status, reason=own.reason, message=own.message, since=own.since)
