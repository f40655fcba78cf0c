"""The table of a drain: the states of a node on its way out, what is done in each, and what comes then.

No state is kept. `next_step` begins at the first one and follows the table by what stands in the API and what
the calls made so far told. So a restart goes on where the process before it died, and what somebody undoes is
done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cached_property
from typing import Final

from treenail.domain.cluster.emptiness import is_empty
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.model.causes import Cause
from treenail.domain.model.cordons import cordon, cordoned, of_old_api, uncordon
from treenail.domain.model.node_deadlines import machine_ends_at
from treenail.domain.model.nodes import Node, NodeClaim, NodeView, awaited
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.model.taints import UNREGISTERED, UNSCHEDULABLE
from treenail.domain.termination.drain import (
    Abandon,
    AwaitDetached,
    AwaitGone,
    Cordon,
    DeleteClaim,
    DeleteNode,
    FindInstance,
    LetGo,
    SayEnd,
    Step,
    Terminate,
)
from treenail.domain.termination.eviction_order import MoveOut, move_out, places_awaited
from treenail.domain.termination.leaving import Leaving

# A pod may have been bound before the scheduler saw the taint: it shows up within this time.
_SETTLING: Final = timedelta(seconds=5)
# A call for a claim that is deleted meanwhile is answered, and its answer written down, by this time.
_LAUNCH_ANSWERED: Final = timedelta(seconds=60)
# A node that is emptied before its claim is deleted stays, if pods are left by then that may not be evicted.
_EMPTIED_WITHIN: Final = timedelta(hours=1)
_NOT_EVICTED: Final = "some of its pods could not be evicted for an hour"
# Between two looks for the machine of a node that is not ready.
_LOOK_APART: Final = timedelta(seconds=30)


class DrainState(Enum):
    """The states of a leaving node, in order."""

    TOLD = "told"
    HELD = "held"
    CORDONED = "cordoned"
    DELETED = "deleted"
    CLEARING = "clearing"
    DRAINING = "draining"
    DETACHING = "detaching"
    TERMINATING = "terminating"
    STOPPING = "stopping"
    RELEASING = "releasing"
    # The ends: open again, and gone.
    STAYS = "stays"
    GONE = "gone"


@dataclass(frozen=True)
class Facts:
    """The facts of a drain: node and claim, the pods, results of calls, and the time."""

    view: NodeView
    pods: Sequence[Pod]
    leaving: Leaving
    now: datetime

    @property
    def node(self) -> Node | None:
        """The node; None once it is gone, or before it joined."""
        return self.view.node

    @property
    def claim(self) -> NodeClaim:
        """The claim, in the states of nodes that have one."""
        assert self.view.claim is not None  # noqa: S101
        return self.view.claim

    @property
    def unclaimed(self) -> bool:
        """True if the node has no claim."""
        return self.view.claim is None

    @property
    def has_pods(self) -> bool:
        """True if pods may run on its node: on that of a claim that is not understood they may.

        That it registered is written on the node first, and the watch of claims may be late.
        """
        node, claim = self.node, self.view.claim
        if node is None or claim is None:
            return node is not None
        open_to_pods = UNREGISTERED not in node.taints and not awaited(node)
        return claim.registered or bool(claim.unread) or open_to_pods

    @property
    def room(self) -> Resources:
        """The amounts that all nodes which go with it have for pods; nothing where that is not known."""
        return self.leaving.room or (self.node.allocatable if self.node is not None else NOTHING)

    @property
    def may_reopen(self) -> bool:
        """True if there is a node that is not deleted, so that it can be opened again."""
        return self.node is not None and self.node.deleting_since is None

    @property
    def settled_at(self) -> datetime:
        """From when on no pods show up any more that were bound before the cordon."""
        return (self.leaving.cordoned_at or self.leaving.began_at) + _SETTLING

    @cached_property
    def waiting(self) -> Sequence[Pod]:
        """The pods that are waited for. Those that bear the cordon of the old API would come back at once."""
        old = of_old_api(self.view.claim)
        return [p for p in self.pods if p.drainable(self.now) and not (old and _bears_cordon(p))]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: in `state`, if `where` holds, `do` the step, and `then` is the next state.

    `do` returns a step, an instant to look again at, or True where only the state changes. Where the row does
    not hold it returns None or False.
    """

    state: DrainState
    where: str
    do: Callable[[Facts], Step | bool | None]
    then: DrainState


def next_step(view: NodeView, pods: Sequence[Pod], leaving: Leaving, now: datetime) -> Step:
    """Return what is to be done next, or an instant to look again at."""
    return find_row(Facts(view, pods, leaving, now))[1]


def find_row(facts: Facts) -> tuple[Row, Step]:
    """Return the present row of the table for a drain, and the step to take there."""
    state = DrainState.TOLD
    while True:
        for row in _ROWS[state]:
            step = row.do(facts)
            if step is not None and step is not False:
                break
        else:
            raise RuntimeError(f"{facts.view.name}: no row of the drain holds where it is {state.value}")
        if not isinstance(step, bool):
            return row, step
        state = row.then


def _cordon(facts: Facts) -> Cordon | None:
    node, claim = facts.node, facts.view.claim
    if node is None or cordoned(node, claim) or not facts.has_pods:
        return None
    return Cordon(node=node, patch=cordon(claim))


def _keep_node(facts: Facts) -> datetime | None:
    return facts.now + _SETTLING if facts.view.kept_node else None


def _delete_claim(facts: Facts) -> DeleteClaim | None:
    return None if facts.claim.leaving else DeleteClaim(claim=facts.claim)


def _let_claim_go(facts: Facts) -> LetGo:
    return LetGo(node=None, claim=facts.claim)


def _open(facts: Facts, why: str = "") -> Abandon | None:
    node = facts.node
    return Abandon(node=node, patch=uncordon(facts.claim, node), why=why) if node is not None else None


def _empty(facts: Facts) -> bool:
    return facts.leaving.cause is Cause.EMPTY and facts.may_reopen


def _open_where_used(facts: Facts) -> Abandon | None:
    return _open(facts) if _empty(facts) and not is_empty(facts.pods, facts.view.claim) else None


def _settle_empty(facts: Facts) -> datetime | None:
    return _settle(facts) if _empty(facts) else None


def _settle(facts: Facts) -> datetime | None:
    return facts.settled_at if facts.now < facts.settled_at else None


def _open_where_withdrawn(facts: Facts) -> Abandon | None:
    return _open(facts) if facts.leaving.withdrawn and facts.leaving.may_stay and facts.may_reopen else None


def _await_places(facts: Facts) -> datetime | Abandon | None:
    if not facts.leaving.replaced_first or not facts.may_reopen:
        return None
    until = places_awaited(facts.pods, facts.leaving, facts.now)
    return _open(facts) if until is not None and until <= facts.now else until


def _empty_at_first(facts: Facts) -> MoveOut | Abandon | datetime | None:
    """Evict the pods while there is a way back: for one that loses its place then, nothing need be bought.

    Not before pods bound meanwhile have shown up: by then, too, the other nodes that go now or later bear
    their taints, and the scheduler does not send these pods there.
    """
    if not facts.leaving.emptied_first or not facts.may_reopen:
        return None
    settling = _settle(facts)
    if settling is not None:
        return settling
    moving = [pod for pod in facts.waiting if not pod.daemon]
    if not any(pod.active for pod in moving):
        return None
    late = facts.now >= facts.leaving.began_at + _EMPTIED_WITHIN
    return _open(facts, _NOT_EVICTED) if late else move_out(moving, facts.leaving, facts.now, facts.room)


def _let_unbought_go(facts: Facts) -> LetGo | None:
    unmarked = LaunchMark.of(facts.claim) is None
    return _let_claim_go(facts) if unmarked or facts.leaving.nothing_bought else None


def _await_answer(facts: Facts) -> datetime | None:
    answered_at = (facts.claim.deleting_since or facts.leaving.began_at) + _LAUNCH_ANSWERED
    return answered_at if facts.now < answered_at else None


def _find_instance(facts: Facts) -> FindInstance | None:
    mark = LaunchMark.of(facts.claim)
    return FindInstance(claim=facts.claim, token=mark.token) if mark is not None else None


def _joined(facts: Facts) -> bool:
    """Return whether a kubelet spoke for the node, or none is to speak for it."""
    return facts.node is None or facts.unclaimed or facts.claim.registered or not awaited(facts.node)


def _delete_node(facts: Facts) -> DeleteNode | None:
    return DeleteNode(node=facts.node) if facts.node is not None and facts.may_reopen else None


def _clear(facts: Facts) -> MoveOut | None:
    bound = tuple((p, 0) for p in facts.pods if not p.daemon)
    return MoveOut(evict=(), delete=bound) if bound else None


def _nobody_to_drain(facts: Facts) -> bool:
    return not facts.has_pods or facts.leaving.drained_at is not None or facts.leaving.lost


def _look_for_machine(facts: Facts) -> AwaitGone | None:
    """Look up the machine of a node that is not ready: if it is gone, no pod is left to move."""
    looked_at = facts.leaving.looked_at
    lately = looked_at is not None and facts.now < looked_at + _LOOK_APART
    if facts.unclaimed or lately or (facts.node is not None and facts.node.ready) or not facts.waiting:
        return None
    return AwaitGone(claim=facts.claim, draining=True)


def _say_end(facts: Facts) -> SayEnd | None:
    """Write down when the machine ends: a notice for a node that goes already is forgotten by a restart."""
    ends_at = facts.leaving.ends_at
    if facts.unclaimed or ends_at is None or not facts.waiting:
        return None
    said = machine_ends_at(facts.claim)
    return SayEnd(claim=facts.claim, at=ends_at) if said is None or said > ends_at else None


def _move_out(facts: Facts) -> MoveOut | datetime | None:
    return move_out(facts.waiting, facts.leaving, facts.now, facts.room) if facts.waiting else None


def _detach(facts: Facts) -> AwaitDetached | None:
    """Wait for the volumes of the pods that have left, where there is a machine that gives them back."""
    leaving, there = facts.leaving, {pod.uid for pod in facts.pods}
    left = {name for uid, names in leaving.volumes.items() if uid not in there for name in names}
    over = (leaving.end is not None and facts.now >= leaving.end) or leaving.cause is Cause.GARBAGE_COLLECTED
    if facts.node is None or leaving.detached or over or not (left or leaving.resumed):
        return None
    kept = {name for uid, names in leaving.volumes.items() if uid in there for name in names}
    return AwaitDetached(node=facts.node, kept=frozenset(kept))


def _terminate(facts: Facts) -> Terminate | None:
    return Terminate(claim=facts.claim) if facts.leaving.terminated_at is None else None


def _await_gone(facts: Facts) -> AwaitGone | None:
    return None if facts.unclaimed or facts.leaving.gone else AwaitGone(claim=facts.claim)


def _delete_unjoined(facts: Facts) -> DeleteNode | None:
    """Delete the node of a claim. If it never registered, nothing else would delete it for sure."""
    return None if facts.unclaimed else _delete_node(facts)


def _let_go(facts: Facts) -> LetGo:
    return LetGo(node=facts.node, claim=facts.view.claim)


def _otherwise(_: Facts) -> bool:
    return True


def _bears_cordon(pod: Pod) -> bool:
    return any(t.tolerates(UNSCHEDULABLE) for t in pod.spec.tolerations)


_S = DrainState
TABLE: Final = (
    Row(_S.TOLD, "another claim has its machine", lambda f: bool(f.view.holder) and not f.unclaimed, _S.HELD),
    Row(_S.TOLD, "pods may come to its node", _cordon, _S.CORDONED),
    Row(_S.TOLD, "otherwise", _otherwise, _S.CORDONED),
    Row(_S.HELD, "its node would go with its claim", _keep_node, _S.HELD),
    Row(_S.HELD, "its claim is not deleted", _delete_claim, _S.HELD),
    Row(_S.HELD, "otherwise", _let_claim_go, _S.GONE),
    Row(
        _S.CORDONED,
        "its claim is deleted",
        lambda f: f.unclaimed or f.claim.leaving,
        _S.DELETED,
    ),
    Row(_S.CORDONED, "it was to go as empty, and is not", _open_where_used, _S.STAYS),
    Row(_S.CORDONED, "it was to go as empty, and pods may show up", _settle_empty, _S.CORDONED),
    Row(_S.CORDONED, "its consolidation was withdrawn", _open_where_withdrawn, _S.STAYS),
    Row(_S.CORDONED, "its pods have no ready places yet, or not in time", _await_places, _S.STAYS),
    Row(_S.CORDONED, "its pods leave first, or do not in an hour", _empty_at_first, _S.STAYS),
    Row(_S.CORDONED, "otherwise", _delete_claim, _S.DELETED),
    Row(_S.DELETED, "it was launched", lambda f: f.unclaimed or f.claim.launched, _S.CLEARING),
    Row(_S.DELETED, "nothing was bought", _let_unbought_go, _S.GONE),
    Row(_S.DELETED, "its CreateFleet may be under way", _await_answer, _S.DELETED),
    Row(_S.DELETED, "otherwise", _find_instance, _S.DELETED),
    Row(_S.CLEARING, "its kubelet came, or no pods were bound early", _joined, _S.DRAINING),
    Row(_S.CLEARING, "its node is not deleted", _delete_node, _S.CLEARING),
    Row(_S.CLEARING, "pods were bound to it", _clear, _S.CLEARING),
    Row(_S.CLEARING, "otherwise", _otherwise, _S.DRAINING),
    Row(_S.DRAINING, "no pod can run there, or it was drained before", _nobody_to_drain, _S.TERMINATING),
    Row(_S.DRAINING, "its node is not deleted", _delete_node, _S.DRAINING),
    Row(_S.DRAINING, "pods are left, and it is not ready", _look_for_machine, _S.DRAINING),
    Row(_S.DRAINING, "pods are left, and EC2's deadline is not written", _say_end, _S.DRAINING),
    Row(_S.DRAINING, "pods are left", _move_out, _S.DRAINING),
    Row(_S.DRAINING, "pods may show up", _settle, _S.DRAINING),
    Row(_S.DRAINING, "otherwise", _otherwise, _S.DETACHING),
    Row(_S.DETACHING, "volumes may be attached", _detach, _S.DETACHING),
    Row(_S.DETACHING, "otherwise", _otherwise, _S.TERMINATING),
    Row(_S.TERMINATING, "it has no claim", lambda f: f.unclaimed, _S.RELEASING),
    Row(_S.TERMINATING, "EC2 was not asked to", _terminate, _S.STOPPING),
    Row(_S.TERMINATING, "otherwise", _otherwise, _S.STOPPING),
    Row(_S.STOPPING, "its machine may be there", _await_gone, _S.STOPPING),
    Row(_S.STOPPING, "otherwise", _otherwise, _S.RELEASING),
    Row(_S.RELEASING, "its node is not deleted", _delete_unjoined, _S.RELEASING),
    Row(_S.RELEASING, "otherwise", _let_go, _S.GONE),
)
_ROWS: Final = {state: tuple(row for row in TABLE if row.state is state) for state in DrainState}
