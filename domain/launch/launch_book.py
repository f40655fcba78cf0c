"""The launches in flight: which claim waits for which step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count

from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.disruption.disruption import ClaimGivenUp
from treenail.domain.launch.launching import Launch, LaunchMark, launch_token
from treenail.domain.model.claims import DECISION
from treenail.domain.model.fleets import Instance
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.telemetry.tracing import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Claims of one pool to be grouped into calls together.

    With a `token`, all of one earlier call, and with them those that may have been about to be marked for it.
    """

    id: str
    names: tuple[str, ...]
    pool: NodePool
    node_class: NodeClass
    token: str = ""


@dataclass(slots=True, kw_only=True)
class Group:
    """The claims of one call, those that are still to be marked for it, and the spans of its attempts.

    `marks` are what each claim is to say of it.
    """

    launch: Launch
    batch: Batch
    unmarked: dict[str, None]
    marks: Mapping[str, LaunchMark] = field(init=False)
    spans: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.marks = self.launch.marks()


@dataclass(slots=True)
class _Work:
    """A claim being launched, and what it is bought from. `token` is set while it is in a call's group.

    It may be `seen` to be written before the call that writes it is answered.
    """

    claim: NodeClaim
    since: datetime
    pool: NodePool
    node_class: NodeClass
    token: str = ""
    instance: Instance | None = None
    seen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """What `says` that a claim comes to nothing, and whether that is known to be `written`."""

    says: ClaimGivenUp
    written: bool


class LaunchBook:
    """Every claim that is being launched, from the commitment (or the adoption) to its instance."""

    def __init__(self) -> None:
        self._work: dict[str, _Work] = {}
        self._batches: dict[str, Batch] = {}
        self._unwritten: dict[str, dict[str, None]] = {}
        self._batch_of: dict[str, str] = {}
        self._groups: dict[str, Group] = {}
        # Every claim that is marked for a call, as last known, and the calls they are marked for.
        self._marked: dict[str, NodeClaim] = {}
        self._by_token: dict[str, dict[str, None]] = {}
        self._adoptable: dict[str, tuple[NodeClaim, NodePool, NodeClass]] = {}
        self._given_up: dict[str, GivenUp] = {}
        self._numbers = count()

    # --- opening and adopting

    def open(self, plan: PlanCommitted, now: datetime) -> tuple[Batch, ...]:
        """Take on the claims of a plan; return them by pool, to be written."""
        by_pool: dict[str, list[NodeClaim]] = {}
        for claim in plan.claims:
            by_pool.setdefault(claim.pool, []).append(claim)
        batches = []
        for name, claims in by_pool.items():
            pool, node_class = plan.pools[name], plan.node_classes[str(plan.pools[name].node_class)]
            self._work |= {c.name: _Work(c, now, pool, node_class) for c in claims}
            batches.append(self._open_batch((c.name for c in claims), pool, node_class, unwritten=True))
        return tuple(batches)

    def _open_batch(
        self,
        names: Iterable[str],
        pool: NodePool,
        node_class: NodeClass,
        *,
        token: str = "",
        unwritten: bool = False,
    ) -> Batch:
        batch = Batch(
            id=f"{pool.name}/{next(self._numbers)}",
            names=tuple(names),
            pool=pool,
            node_class=node_class,
            token=token,
        )
        self._batches[batch.id] = batch
        if unwritten:
            self._unwritten[batch.id] = dict.fromkeys(batch.names)
            self._batch_of |= dict.fromkeys(batch.names, batch.id)
        return batch

    def note(self, changed: NodeChanged) -> bool:
        """Take in what a claim is like now; return whether somebody left it unlaunched, to be adopted."""
        name = changed.name
        claim = changed.view.claim if changed.view is not None else None
        if claim is None:
            self._gone(name)
            return False
        self._file(claim)
        waits = not claim.launched and not claim.leaving and claim.resource_version > 0
        if claim.resource_version > 0:
            self._seen(claim)
        known = name in self._work or name in self._given_up
        if not waits or known or changed.pool is None or changed.node_class is None:
            self._adoptable.pop(name, None)
            return False
        self._adoptable[name] = (claim, changed.pool, changed.node_class)
        return True

    def _file(self, claim: NodeClaim) -> None:
        """Keep a claim under the call it is marked for, unless that is old news."""
        before = self._marked.get(claim.name)
        if before is not None:
            if claim.resource_version < before.resource_version:
                return
            self._unfile(claim.name)
        mark = LaunchMark.of(claim)
        if mark is not None:
            self._marked[claim.name] = claim
            self._by_token.setdefault(mark.token, {})[claim.name] = None

    def _unfile(self, name: str) -> None:
        before = self._marked.pop(name, None)
        mark = LaunchMark.of(before) if before is not None else None
        if mark is not None:
            del self._by_token[mark.token][name]
            if not self._by_token[mark.token]:
                del self._by_token[mark.token]

    def unwanted(self, changed: NodeChanged) -> bool:
        """Return whether this claim was given up before we knew that it had been written."""
        claim = changed.view.claim if changed.view is not None else None
        return (
            claim is not None
            and changed.name in self._given_up
            and changed.name not in self._work
            and claim.resource_version > 0
            and not claim.leaving
        )

    def _gone(self, name: str) -> None:
        self._adoptable.pop(name, None)
        self._unfile(name)
        given_up = self._given_up.get(name)
        if given_up is not None and given_up.written:
            del self._given_up[name]
        work = self._work.get(name)
        group = self._groups.get(work.token) if work is not None else None
        if group is not None and name not in group.unmarked:
            self.forget(name)

    def adopt(self, now: datetime) -> tuple[Batch, ...]:
        """Take on the claims that were left unlaunched, those of one earlier call together."""
        sets: dict[tuple[str, str], list[str]] = {}
        incomplete = self._incomplete_calls()
        for name, (claim, pool, node_class) in self._adoptable.items():
            mark = LaunchMark.of(claim)
            token = mark.token if mark is not None else ""
            together = token or incomplete.get(_origin(claim), "")
            sets.setdefault((together, pool.name), []).append(name)
            self._work[name] = _Work(claim, now, pool, node_class, token)
        self._adoptable.clear()
        return tuple(
            self._open_batch(names, self._work[names[0]].pool, self._work[names[0]].node_class, token=token)
            for (token, _), names in sets.items()
        )

    def _incomplete_calls(self) -> dict[tuple[str, str], str]:
        """Return, by pool and decision, a call that is still to be answered and lacks marks of its claims."""
        found: dict[tuple[str, str], str] = {}
        for token, names in sorted(self._by_token.items()):
            waits = not all(self._marked[name].provider_id for name in names)
            if waits and launch_token(sorted(names)) != token:
                found.setdefault(_origin(self._marked[min(names)]), token)
        return found

    def unmarked(self, batch: Batch) -> tuple[NodeClaim, ...]:
        """Return those claims of a batch that were not marked for its call."""
        return tuple(c for c in self.claims(batch.names) if LaunchMark.of(c) is None)

    def again(self, names: Iterable[str], batch: Batch) -> Batch | None:
        """Return claims of a batch as one of their own, to be grouped anew; None where there are none."""
        left = tuple(name for name in names if name in self._work)
        return self._open_batch(left, batch.pool, batch.node_class) if left else None

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

    def give(self, name: str, instance: Instance) -> None:
        """Deal an instance to a claim."""
        self._work[name].instance = instance

    def recorded(self, name: str, claim: NodeClaim) -> None:
        """Work on a claim no longer: it says which instance it got."""
        self._file(claim)
        self.forget(name)

    def forget(self, name: str) -> None:
        """Work on a claim no longer: it is launched, or gone."""
        work = self._work.pop(name, None)
        group = self._groups.get(work.token) if work is not None else None
        if work is not None and group is not None and not self._members(group):
            del self._groups[work.token]

    def give_up(self, says: ClaimGivenUp) -> None:
        """Work on a claim no longer, and remember that it is to go until it does.

        If its writing was never answered, it may not be there yet.
        """
        work = self._work.get(says.name)
        if work is not None:
            self._given_up[says.name] = GivenUp(
                says=says, written=work.seen or work.claim.resource_version > 0
            )
        self.forget(says.name)

    def given_up(self, name: str) -> GivenUp | None:
        """Return a claim that was given up and, as far as is known, is not gone yet."""
        return self._given_up.get(name)

    def _seen(self, claim: NodeClaim) -> None:
        work, given_up = self._work.get(claim.name), self._given_up.get(claim.name)
        if work is not None:
            work.seen = True
        if given_up is not None and claim.leaving:
            del self._given_up[claim.name]
        elif given_up is not None:
            self._given_up[claim.name] = replace(given_up, written=True)

    def hand_back(self, names: Iterable[str]) -> None:
        """Work on claims no longer for now; they can be adopted again."""
        for name in names:
            work = self._work.get(name)
            if work is not None:
                self._adoptable[name] = (work.claim, work.pool, work.node_class)
            self.forget(name)

    # --- batches and groups

    def batch(self, batch_id: str) -> Batch | None:
        """Return a batch that is open."""
        return self._batches.get(batch_id)

    def close(self, batch_id: str) -> Batch | None:
        """End a batch: its claims are grouped from here on, or fail."""
        return self._batches.pop(batch_id, None)

    def written(self, name: str, claim: NodeClaim) -> Batch | None:
        """Note that a claim is written; return its batch when all of it is."""
        if name in self._work:
            self._work[name].claim = claim
        return self.settle(name)

    def settle(self, name: str) -> Batch | None:
        """Wait no longer for a claim to be written; return its batch when no other is waited for."""
        batch_id = self._batch_of.pop(name, None)
        if batch_id is None:
            return None
        unwritten = self._unwritten[batch_id]
        unwritten.pop(name, None)
        if unwritten:
            return None
        del self._unwritten[batch_id]
        return self._batches.get(batch_id)

    def group_up(self, group: Group) -> None:
        """Open a group."""
        token = group.launch.request.token
        self._groups[token] = group
        for name in group.launch.claims:
            if name in self._work:
                self._work[name].token = token

    def group(self, token: str) -> Group | None:
        """Return the open group of a token."""
        return self._groups.get(token)

    def reopen(self, token: str) -> Batch | None:
        """End a group whose call will not be made; return what is left of it as a batch, if anything is."""
        group = self._groups.pop(token, None)
        if group is None:
            return None
        names = self._members(group)
        for name in names:
            self._work[name].token = ""
        return self.again(names, group.batch)

    def _members(self, group: Group) -> tuple[str, ...]:
        """Return the claims of a group that are still being worked on in it."""
        token = group.launch.request.token
        return tuple(n for n in group.launch.claims if n in self._work and self._work[n].token == token)

    def marked_now(self, name: str, token: str, claim: NodeClaim) -> Group | None:
        """Note that a claim is marked; return its group when all of it is."""
        if name in self._work:
            self._work[name].claim = claim
        self._file(claim)
        group = self._groups.get(token)
        if group is None or name not in group.unmarked:
            return None
        del group.unmarked[name]
        return None if group.unmarked else group

    def marked(self, token: str) -> tuple[NodeClaim, ...]:
        """Return all claims there are of one call, launched ones included, as last known.

        Those that are being worked on in another call by now are not of this one any more.
        """
        known = []
        for name in sorted(self._by_token.get(token, {})):
            work = self._work.get(name)
            if work is None:
                known.append(self._marked[name])
            elif work.token == token:
                known.append(work.claim)
        return tuple(known)

    def all_leaving(self, token: str) -> bool:
        """Return whether every claim of a call that still waits for its instance is to go."""
        return all(self._marked[name].leaving for name in self.waiting_for(token))

    def waiting_for(self, token: str) -> tuple[str, ...]:
        """Return the claims of a call that are still to get their instance, sorted."""
        there = self._by_token.get(token, {})
        return tuple(sorted(n for n in there if n in self._work and self._work[n].token == token))

    def take_spans(self, name: str) -> tuple[Span, ...]:
        """Return, once, the spans of the call that `name` is the first claim of."""
        for group in self._groups.values():
            if group.launch.claims[0] == name:
                spans, group.spans = tuple(group.spans), []
                return spans
        return ()


def _origin(claim: NodeClaim) -> tuple[str, str]:
    """Return which pool a claim is of, and which decision."""
    return claim.pool, claim.annotations.get(DECISION, "")
