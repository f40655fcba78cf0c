"""The launches in flight: which state of `launch_table` each claim is in, and which step that takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import TypeAlias

from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.disruption.disruption import ClaimGivenUp
from treenail.domain.launch.given_up_claims import GivenUp, GivenUpClaims
from treenail.domain.launch.launch_groups import Batch, Group
from treenail.domain.launch.launch_steps import (
    CallFleet,
    FindInstances,
    MarkClaim,
    PrepareBatch,
    Step,
    WriteClaim,
    first,
)
from treenail.domain.launch.launch_table import STEPS, TABLE, LaunchEvent, LaunchState, Member, after
from treenail.domain.launch.launching import Launch, LaunchMark
from treenail.domain.launch.marked_claims import MarkedClaims, origin, ours_from
from treenail.domain.model.fleets import Instance
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.telemetry.tracing import Span


@dataclass(slots=True)
class _Work:
    """A claim being launched, and what it is bought from. `token` is set while it is in a call's group.

    `batch` is the one it came in last. It may be `seen` to be written before the call that writes it is
    answered.
    """

    state: LaunchState
    claim: NodeClaim
    since: datetime
    pool: NodePool
    node_class: NodeClass
    token: str = ""
    batch: str = ""
    instance: Instance | None = None
    seen: bool = False


_Adoptable: TypeAlias = tuple[NodeClaim, NodePool, NodeClass]


class LaunchBook:
    """Every claim that is being launched, from the commitment (or the adoption) to its instance."""

    def __init__(self) -> None:
        self._work: dict[str, _Work] = {}
        self._batches: dict[str, Batch] = {}
        self._unwritten: dict[str, dict[str, None]] = {}
        self._groups: dict[str, Group] = {}
        self._marked = MarkedClaims()
        self._adoptable: dict[str, _Adoptable] = {}
        # Claims of no pool whose launch waits after a failure: they are adopted again when they are resumed.
        self._postponed: dict[str, _Adoptable | None] = {}
        self._given_up = GivenUpClaims()
        self._numbers = count()

    def move(self, names: Iterable[str], event: LaunchEvent) -> tuple[Step, ...]:
        """Let something happen to claims, those of them that are worked on; return the steps it leads to."""
        steps: dict[Step, None] = {}
        for name in names:
            work = self._work.get(name)
            if work is None:
                continue
            work.state = after(name, work.state, event)
            step = self._waits_for(name)
            if step is not None:
                steps[step] = None
        return tuple(steps)

    def state(self, name: str) -> LaunchState | None:
        """Return how the launch of a claim stands."""
        work = self._work.get(name)
        return work.state if work is not None else None

    def _waits_for(self, name: str) -> Step | None:
        work = self._work.get(name)
        make = STEPS.get(work.state) if work is not None else None
        return make(Member(name, work.batch, work.token)) if make and work else None

    def _in(self, states: Collection[LaunchState], names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if self.state(name) in states)

    # --- opening and adopting

    def open(self, plan: PlanCommitted, now: datetime) -> tuple[Batch, ...]:
        """Take on the claims of a plan; return them by pool, to be written."""
        by_pool: dict[str, list[NodeClaim]] = {}
        for claim in plan.claims:
            by_pool.setdefault(claim.pool, []).append(claim)
        batches = []
        for name, claims in by_pool.items():
            pool, node_class = plan.pools[name], plan.node_classes[str(plan.pools[name].node_class)]
            self._work |= {c.name: _Work(LaunchState.PLANNED, c, now, pool, node_class) for c in claims}
            batch = self._open_batch((c.name for c in claims), pool, node_class)
            self._unwritten[batch.id] = dict.fromkeys(batch.names)
            batches.append(batch)
        return tuple(batches)

    def _open_batch(
        self,
        names: Iterable[str],
        pool: NodePool,
        node_class: NodeClass,
        *,
        token: str = "",
    ) -> Batch:
        batch = Batch(
            id=f"{pool.name}/{next(self._numbers)}",
            names=tuple(names),
            pool=pool,
            node_class=node_class,
            token=token,
        )
        self._batches[batch.id] = batch
        for name in batch.names:
            self._work[name].batch = batch.id
        return batch

    def note(self, changed: NodeChanged) -> bool:
        """Take in what a claim is like now; return whether somebody left it unlaunched, to be adopted."""
        name = changed.name
        claim = changed.view.claim if changed.view is not None else None
        if claim is None:
            self._gone(name)
            return False
        self._marked.note(claim)
        waits = not claim.launched and not claim.leaving and claim.resource_version > 0
        work = self._work.get(name)
        if claim.resource_version > 0:
            self._given_up.note(claim)
            if work is not None:
                work.seen = True
        known = work is not None or self._given_up.get(name) is not None
        adoptable: _Adoptable | None = None
        if waits and not known and changed.pool is not None and changed.node_class is not None:
            adoptable = (claim, changed.pool, changed.node_class)
        if name in self._postponed:
            self._postponed[name] = adoptable
        elif adoptable is None:
            self._adoptable.pop(name, None)
        else:
            self._adoptable[name] = adoptable
        return name in self._adoptable

    def unwanted(self, changed: NodeChanged) -> bool:
        """Return whether this claim was given up before we knew that it had been written."""
        claim = changed.view.claim if changed.view is not None else None
        return (
            claim is not None
            and self._given_up.get(changed.name) is not None
            and changed.name not in self._work
            and claim.resource_version > 0
            and not claim.leaving
        )

    def _gone(self, name: str) -> None:
        self._adoptable.pop(name, None)
        self._postponed.pop(name, None)
        self._marked.forget(name)
        self._given_up.gone(name)
        if self.state(name) is not None and not self.goes_on(name):
            self.move((name,), LaunchEvent.GONE)
            self.forget(name)

    def goes_on(self, name: str) -> bool:
        """Return whether the launch of a claim goes on where the claim is gone: its next step finds out."""
        state = self.state(name)
        return state is not None and LaunchEvent.GONE not in TABLE[state]

    def adopt(self, now: datetime) -> tuple[Batch, ...]:
        """Take on the claims that were left unlaunched, those of one earlier call together.

        One of no pool is launched by itself: nothing says that others are of the same node class.
        """
        sets: dict[tuple[str, str], list[str]] = {}
        incomplete = self._marked.incomplete()
        ours = {name: one for name, one in self._adoptable.items() if ours_from(one[0]) <= now}
        for name, (claim, pool, node_class) in ours.items():
            mark = LaunchMark.of(claim)
            token = mark.token if mark is not None else ""
            together = token or (incomplete.get(origin(claim), "") if pool.name else "")
            sets.setdefault((together, pool.name or name), []).append(name)
            self._work[name] = _Work(LaunchState.LEFT, claim, now, pool, node_class, token)
            del self._adoptable[name]
        return tuple(
            self._open_batch(names, self._work[names[0]].pool, self._work[names[0]].node_class, token=token)
            for (token, _), names in sets.items()
        )

    def next_adoption(self) -> datetime | None:
        """Return when the next claim can be adopted that somebody left unlaunched, if there is one."""
        return min((ours_from(claim) for claim, *_ in self._adoptable.values()), default=None)

    def unmarked(self, names: Iterable[str]) -> tuple[NodeClaim, ...]:
        """Return those of the claims that are not marked for a call."""
        return tuple(c for c in self.claims(names) if LaunchMark.of(c) is None)

    def again(self, names: Iterable[str], batch: Batch, event: LaunchEvent) -> tuple[Step, ...]:
        """Let claims of a batch be grouped anew, as one of their own."""
        left = tuple(name for name in names if name in self._work)
        return self.move(self._open_batch(left, batch.pool, batch.node_class).names, event) if left else ()

    # --- one claim

    def claim(self, name: str) -> NodeClaim | None:
        """Return the claim being worked on under `name`."""
        work = self._work.get(name)
        return work.claim if work is not None else None

    def since(self, name: str) -> datetime | None:
        """Return when the work on a claim began."""
        work = self._work.get(name)
        return work.since if work is not None else None

    def claims(self, names: Iterable[str]) -> tuple[NodeClaim, ...]:
        """Return those of the claims that are still being worked on."""
        return tuple(self._work[name].claim for name in names if name in self._work)

    def instance(self, name: str) -> Instance | None:
        """Return the instance dealt to a claim."""
        work = self._work.get(name)
        return work.instance if work is not None else None

    def source(self, name: str) -> tuple[NodePool, NodeClass] | None:
        """Return the pool and the node class that a claim is bought of."""
        work = self._work.get(name)
        return (work.pool, work.node_class) if work is not None else None

    def give(self, name: str, instance: Instance) -> tuple[Step, ...]:
        """Assign an instance to a claim; return the step that writes it down."""
        self._work[name].instance = instance
        return self.move((name,), LaunchEvent.BOUGHT)

    def recorded(self, name: str, claim: NodeClaim) -> None:
        """Work on a claim no longer: it says which instance it got."""
        self._marked.note(claim)
        self.move((name,), LaunchEvent.RECORDED)
        self.forget(name)

    def forget(self, name: str) -> None:
        """Work on a claim no longer: it is launched, or gone."""
        work = self._work.pop(name, None)
        group = self._groups.get(work.token) if work is not None else None
        if work is not None and group is not None:
            left = (self._work.get(n) for n in group.launch.claims)
            if all(other is None or other.token != work.token for other in left):
                del self._groups[work.token]

    def give_up(self, says: ClaimGivenUp) -> None:
        """Work on a claim no longer, and remember that it is to go until it does.

        If its writing was never answered, it may not be there yet.
        """
        work = self._work.get(says.name)
        if work is not None:
            self._given_up.add(says, written=work.seen or work.claim.resource_version > 0)
        self.forget(says.name)

    def given_up(self, name: str) -> GivenUp | None:
        """Return a claim that was given up and, as far as is known, is not gone yet."""
        return self._given_up.get(name)

    def hand_back(self, name: str) -> None:
        """Work on a claim no longer for now; it can be adopted again."""
        work = self._work.get(name)
        if work is not None:
            self._adoptable[name] = (work.claim, work.pool, work.node_class)
        self.forget(name)

    def postpone(self, name: str) -> None:
        """Work on a claim no longer, nor adopt it again before it is resumed."""
        self._postponed[name] = None
        self.forget(name)

    def resume(self, name: str) -> bool:
        """Let a claim that was postponed be adopted again; return whether it can be now."""
        there = self._postponed.pop(name, None)
        if there is not None:
            self._adoptable[name] = there
        return there is not None

    # --- batches and groups

    def batch(self, batch_id: str) -> Batch | None:
        """Return a batch that is open."""
        return self._batches.get(batch_id)

    def close(self, batch_id: str) -> Batch | None:
        """End a batch: its claims are grouped from here on, or fail."""
        return self._batches.pop(batch_id, None)

    def written(self, name: str, claim: NodeClaim) -> tuple[Step, ...]:
        """Note that a claim is written; return the step of its batch when all of it is."""
        if self.state(name) is not LaunchState.WRITING:
            return ()
        self._work[name].claim = claim
        self.move((name,), LaunchEvent.WRITTEN)
        return self._settle(name)

    def _settle(self, name: str) -> tuple[Step, ...]:
        """Wait no longer for a claim to be written; return the step of its batch when all others are."""
        work = self._work.get(name)
        unwritten = self._unwritten.get(work.batch) if work is not None else None
        if work is None or unwritten is None:
            return ()
        unwritten.pop(name, None)
        if unwritten:
            return ()
        del self._unwritten[work.batch]
        names = self._in((LaunchState.WRITTEN,), self._batches[work.batch].names)
        return self.move(names, LaunchEvent.BATCH_WRITTEN)

    def group_up(self, launch: Launch, batch: Batch, *, unmarked: Collection[str]) -> tuple[Step, ...]:
        """Open the group of a call; return the steps that mark these claims, or, without any, the call."""
        token = launch.request.token
        self._groups[token] = Group(launch=launch, batch=batch, unmarked=dict.fromkeys(unmarked))
        waiting = self._in((LaunchState.CHOOSING,), launch.claims)
        for name in waiting:
            self._work[name].token = token
        steps = self.move(unmarked, LaunchEvent.GROUPED)
        self.move((name for name in waiting if name not in unmarked), LaunchEvent.CALL_KNOWN)
        return steps or self.move(self._in((LaunchState.MARKED,), launch.claims), LaunchEvent.CALL_MARKED)

    def group(self, token: str) -> Group | None:
        """Return the open group of a token."""
        return self._groups.get(token)

    def class_of(self, step: Step) -> NodeClassRef | None:
        """Return the node class a step launches from, None for a step that launches nothing."""
        match step:
            case PrepareBatch(batch=batch_id) if batch_id in self._batches:
                return self._batches[batch_id].node_class.ref
            case CallFleet(token=token) if token in self._groups:
                return self._groups[token].launch.request.node_class.ref
            case _:
                return None

    def give_over(self, step: Step) -> tuple[Step, ...]:
        """Wait no longer for a step that came to nothing; return what the others go on with."""
        match step:
            case WriteClaim(name=name):
                return self._settle(name)
            case PrepareBatch(batch=batch_id):
                self.close(batch_id)
            case MarkClaim(token=token):
                return self._reopen(token)
            case _:
                pass
        return ()

    def _reopen(self, token: str) -> tuple[Step, ...]:
        """End a group whose call will not be made: what is left of it is grouped anew."""
        group = self._groups.pop(token, None)
        if group is None:
            return ()
        names = self._in((LaunchState.MARKING, LaunchState.MARKED), group.launch.claims)
        for name in names:
            self._work[name].token = ""
        return self.again(names, group.batch, LaunchEvent.UNGROUPED)

    def marked_now(self, name: str, token: str, claim: NodeClaim) -> tuple[Step, ...]:
        """Note that a claim is marked; return the call when all claims of its group are."""
        if name in self._work:
            self._work[name].claim = claim
        self._marked.note(claim)
        group = self._groups.get(token)
        if group is None or not self.about(MarkClaim(name=name, token=token)):
            return ()
        group.unmarked.pop(name, None)
        self.move((name,), LaunchEvent.MARKED)
        if group.unmarked:
            return ()
        return self.move(self._in((LaunchState.MARKED,), group.launch.claims), LaunchEvent.CALL_MARKED)

    def about(self, step: Step) -> tuple[str, ...]:
        """Return the claims that wait for a step."""
        match step:
            case PrepareBatch(batch=batch_id):
                batch = self._batches.get(batch_id)
                names = batch.names if batch is not None else ()
            case CallFleet() | FindInstances():
                names = self.waiting_for(step.token)
            case _:
                names = (step.name,)
        asked = FindInstances(token=step.token) if isinstance(step, FindInstances) else first(step)
        return tuple(name for name in names if self._waits_for(name) == asked)

    def marked(self, token: str) -> tuple[NodeClaim, ...]:
        """Return all claims there are of one call, launched ones included, as last known.

        Those that are being worked on in another call by now are not of this one any more.
        """
        claims = ((claim, self._work.get(claim.name)) for claim in self._marked.of(token))
        return tuple(
            work.claim if work is not None else claim
            for claim, work in claims
            if work is None or work.token == token
        )

    def waiting_for(self, token: str) -> tuple[str, ...]:
        """Return the claims of a call that are still to get their instance, sorted."""
        names = (claim.name for claim in self._marked.of(token))
        return tuple(n for n in names if n in self._work and self._work[n].token == token)

    def all_leaving(self, token: str) -> bool:
        """Return whether every claim of a call that still waits for its instance is to go."""
        waiting = self.waiting_for(token)
        return all(claim.leaving for claim in self._marked.of(token) if claim.name in waiting)

    def take_spans(self, name: str) -> tuple[Span, ...]:
        """Return, once, the spans of the call that `name` is the first claim of."""
        for group in self._groups.values():
            if group.launch.claims[0] == name:
                spans, group.spans = tuple(group.spans), []
                return spans
        return ()
