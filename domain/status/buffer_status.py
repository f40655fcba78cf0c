"""The status of capacity buffers: the places found for each, and why there are no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.cluster.buffer_states import BuffersSeen, BufferState
from treenail.domain.cluster.buffers import Resolution
from treenail.domain.model.capacity_buffers import ACTIVE
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.nodes import Condition, Status

READY_FOR_PROVISIONING: Final = "ReadyForProvisioning"
PROVISIONING: Final = "Provisioning"
LIMITED: Final = "LimitedByQuotas"
# A condition of our own: the others are written by the controllers of other strategies.
SERVED: Final = "treenail.sh/Served"
_MOST_REPLICAS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferStatus:
    """The status of a buffer as it is to be at a generation of it.

    With a `strategy` of "", only the conditions are written. `template_name` is "" where places are like the
    pods of a workload.
    """

    about: ObjectRef
    generation: int
    conditions: tuple[Condition, ...]
    strategy: str = ""
    template_name: str = ""
    template_generation: int = 0
    replicas: int | None = None


def status_of(one: BufferState) -> BufferStatus:
    """Return what a buffer is to show."""
    buffer, found = one.buffer, one.found
    said = BufferStatus(about=buffer.ref, generation=buffer.generation, conditions=())
    if found is None:
        why = (
            f"Its provisioningStrategy {buffer.strategy} is not served here, only {ACTIVE}: it is left alone"
        )
        return replace(said, conditions=(Condition(SERVED, Status.FALSE, "OtherStrategy", why),))
    ready = Condition(READY_FOR_PROVISIONING, _status(found.ready), found.reason, found.message)
    return replace(
        said,
        conditions=(ready, _provisioning(one, found), _limited(one)),
        strategy=buffer.strategy,
        template_name=found.template_name,
        template_generation=found.template_generation,
        replicas=min(found.wanted, _MOST_REPLICAS) if found.ready else None,
    )


def _status(holds: bool) -> Status:  # noqa: FBT001 (a condition's)
    return Status.TRUE if holds else Status.FALSE


def _provisioning(one: BufferState, found: Resolution) -> Condition:
    if not found.ready:
        return Condition(
            PROVISIONING, Status.FALSE, "NotReadyForProvisioning", "It is not ReadyForProvisioning"
        )
    if not found.wanted:
        return Condition(PROVISIONING, Status.FALSE, "BufferEmpty", "No places are asked for")
    if one.ready >= found.wanted:
        said = f"All {found.wanted} places are on nodes in use"
        return Condition(PROVISIONING, Status.TRUE, "FitsExistingCapacity", said)
    said = f"Of {found.wanted} places {one.ready} are on nodes in use and {one.coming} on nodes on their way"
    if one.lacking and one.refused is not None:
        said = f"{said}; no place is found for {one.lacking}: {one.refused.sentence}"
    return Condition(PROVISIONING, Status.FALSE, "RequiresNewCapacity", said)


def _limited(one: BufferState) -> Condition:
    if one.limited and one.refused is not None:
        return Condition(LIMITED, Status.TRUE, "LimitReached", one.refused.sentence)
    return Condition(LIMITED, Status.FALSE, "WithinLimits", "No limit of a pool keeps it from its places")


class BufferBoard:
    """The statuses that buffers should show, and those they show already. Mutable."""

    def __init__(self) -> None:
        self._wanted: dict[ObjectRef, BufferStatus] = {}
        self._shown: dict[ObjectRef, BufferStatus] = {}

    def see(self, seen: BuffersSeen) -> None:
        """Take in how all buffers stand."""
        self._wanted = {one.buffer.ref: status_of(one) for one in seen.states}
        self._shown = {about: status for about, status in self._shown.items() if about in self._wanted}

    def due(self) -> Iterator[BufferStatus]:
        """Yield what is to be written; it counts as shown from now on."""
        for about, status in self._wanted.items():
            if self._shown.get(about) != status:
                self._shown[about] = status
                yield status

    def unwritten(self, about: ObjectRef) -> None:
        """Note that what was due could not be written: it is due again."""
        self._shown.pop(about, None)
