"""States of capacity buffers: the number of places each has, on what nodes, and their cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treenail.domain.cluster.buffers import Resolution
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.model.capacity_buffers import CapacityBuffer
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.resources import CPU, MEMORY, Resources
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferState:
    """The state of a buffer. `found` is what it asks for, None where its strategy is not one we serve.

    Of its places `ready` are on nodes in use, and `coming` on nodes on their way. `refused` says why a
    decision found none for the rest, None where no decision was made on them yet. `dollars` is the cost of
    its places in an hour: of each node, the share of CPU or memory they take, whichever is more.
    """

    buffer: CapacityBuffer
    found: Resolution | None
    ready: int = 0
    coming: int = 0
    refused: RefusedClass | None = None
    dollars: float = 0.0

    @property
    def lacking(self) -> int:
        """The number of places it lacks."""
        return max(0, self.found.wanted - self.ready - self.coming) if self.found is not None else 0

    @property
    def limited(self) -> bool:
        """True if the limits of a pool leave no room for some of its places."""
        refusals = self.refused.refusals if self.refused is not None else ()
        return any(one.reason is Reason.LIMIT_REACHED for one in refusals)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuffersSeen:
    """All capacity buffers there are, by namespace and name."""

    states: tuple[BufferState, ...]


def buffer_states(model: ClusterModel, refused: Mapping[str, RefusedClass]) -> BuffersSeen:
    """Return the state of all buffers; `refused` has, by owner, why places of some were not found."""
    there, served = model.objects.capacity_buffers, model.buffers.served()
    found: list[BufferState] = []
    for key in sorted(key for key, buffer in there.items() if not buffer.deleting):
        owner = there[key].owner
        if owner in served:
            found.append(_state_of(model, *served[owner], refused.get(owner)))
        else:
            found.append(BufferState(buffer=there[key], found=None))
    return BuffersSeen(states=tuple(found))


def _state_of(
    model: ClusterModel, buffer: CapacityBuffer, found: Resolution, refused: RefusedClass | None
) -> BufferState:
    promises = model.promises.expected(buffer.owner)
    views = {name: model.objects.view(name) for name in dict.fromkeys(p.target for p in promises)}
    ready = sum((view := views[p.target]) is not None and view.initialized for p in promises)
    dollars = (_cost(view, p.requests) for p in promises if (view := views[p.target]) is not None)
    lacks = len(promises) < found.wanted
    return BufferState(
        buffer=buffer,
        found=found,
        ready=ready,
        coming=len(promises) - ready,
        refused=refused if lacks else None,
        dollars=round(sum(dollars), 6),
    )


def _cost(view: NodeView, requests: Resources) -> float:
    price = price_of(view.claim) if view.claim is not None and view.launched else None
    if price is None:
        return 0.0
    room = {name: view.allocatable.get(name, 0) for name in (CPU, MEMORY)}
    return price * max(
        (requests.get(name, 0) / there for name, there in room.items() if there > 0), default=0.0
    )
