"""The launches in flight: which claim waits for which step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from treenail.domain.fleets import Instance
from treenail.domain.launching import Launch, LaunchMark
from treenail.domain.node_classes import NodeClass
from treenail.domain.node_pools import NodePool
from treenail.domain.nodes import NodeClaim, NodeView
from treenail.domain.planning import PlanCommitted
from treenail.domain.tracing import Span
from treenail.domain.watching import NodeChanged


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Claims of one pool to be grouped into calls together. With a `token`, all of one earlier call."""

    id: str
    names: tuple[str, ...]
    pool: NodePool
    node_class: NodeClass
    token: str = ""


@dataclass(slots=True, kw_only=True)
class Group:
    """The claims of one call, and the spans of its attempts."""

    launch: Launch
    batch: Batch
    unmarked: dict[str, None] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.unmarked = dict.fromkeys(self.launch.claims)


@dataclass(slots=True)
class _Work:
    claim: NodeClaim
    since: datetime
    instance: Instance | None = None


class LaunchBook:
    """Every claim that is being launched, from the commitment (or the adoption) to its instance."""

    def __init__(self) -> None:
        self._work: dict[str, _Work] = {}
        self._batches: dict[str, Batch] = {}
        self._unwritten: dict[str, dict[str, None]] = {}
        self._batch_of: dict[str, str] = {}
        self._groups: dict[str, Group] = {}
        self._by_token: dict[str, dict[str, NodeClaim]] = {}
        self._adoptable: dict[str, NodeChanged] = {}
        self._given_up: dict[str, NodeClaim] = {}
        self._numbers = count()

    # --- opening and adopting

    def open(self, plan: PlanCommitted, now: datetime) -> tuple[Batch, ...]:
        """Take on the claims of a plan; return them by pool, to be written."""
        by_pool: dict[str, list[NodeClaim]] = {}
        for claim in plan.claims:
            by_pool.setdefault(claim.pool, []).append(claim)
            self._work[claim.name] = _Work(claim, now)
        return tuple(
            self._open_batch(
                (c.name for c in claims),
                plan.pools[pool],
                plan.node_classes[str(plan.pools[pool].node_class)],
                unwritten=True,
            )
            for pool, claims in by_pool.items()
        )

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
        """Take in what a claim is like now; tell whether somebody left it unlaunched, to be adopted."""
        name = changed.name
        claim = changed.view.claim if changed.view is not None else None
        if claim is None:
            self._gone(name)
            return False
        mark = LaunchMark.of(claim)
        if mark is not None:
            self._by_token.setdefault(mark.token, {})[name] = claim
        waits = not claim.launched and not claim.leaving and claim.resource_version > 0
        if not waits or name in self._work or name in self._given_up or changed.node_class is None:
            self._adoptable.pop(name, None)
            return False
        self._adoptable[name] = changed
        return True

    def unwanted(self, changed: NodeChanged) -> bool:
        """Tell whether this claim was given up before we knew that it had been written."""
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
        self._given_up.pop(name, None)
        for token in [t for t, claims in self._by_token.items() if name in claims]:
            del self._by_token[token][name]
            if not self._by_token[token]:
                del self._by_token[token]

    def adopt(self, now: datetime) -> tuple[Batch, ...]:
        """Take on the claims that were left unlaunched, those of one earlier call together."""
        sets: dict[tuple[str, str], list[NodeChanged]] = {}
        for changed in self._adoptable.values():
            claim = changed.view.claim if changed.view is not None else None
            if claim is None or claim.name in self._work:
                continue
            mark = LaunchMark.of(claim)
            sets.setdefault((mark.token if mark is not None else "", claim.pool), []).append(changed)
            self._work[claim.name] = _Work(claim, now)
        self._adoptable.clear()
        return tuple(self._adopted(token, members) for (token, _), members in sets.items())

    def _adopted(self, token: str, members: list[NodeChanged]) -> Batch:
        pool, node_class = members[0].pool, members[0].node_class
        assert pool is not None  # noqa: S101
        assert node_class is not None  # noqa: S101
        return self._open_batch((m.name for m in members), pool, node_class, token=token)

    # --- one claim

    def claim(self, name: str) -> NodeClaim | None:
        """Return the claim being worked on, or given up, under `name`."""
        work = self._work.get(name)
        return work.claim if work is not None else self._given_up.get(name)

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

    def forget(self, name: str) -> None:
        """Work on a claim no longer: it is launched, or gone."""
        self._work.pop(name, None)
        self._settle_write(name)
        for token in [t for t, g in self._groups.items() if name in g.launch.claims]:
            if not self.waiting_for(token):
                del self._groups[token]

    def give_up(self, name: str) -> None:
        """Work on a claim no longer, and see that it goes."""
        work = self._work.get(name)
        if work is not None:
            self._given_up[name] = work.claim
        self.forget(name)

    def deleted(self, name: str) -> None:
        """Note that a claim given up is deleted, or never was there."""
        claim = self._given_up.get(name)
        if claim is not None and claim.resource_version > 0:
            del self._given_up[name]

    def hand_back(self, names: Iterable[str]) -> None:
        """Work on claims no longer for now; they can be adopted again."""
        for name in names:
            work = self._work.pop(name, None)
            batch = self._batch_for(name)
            if work is not None and batch is not None:
                self._adoptable[name] = NodeChanged(
                    name=name,
                    view=NodeView(claim=work.claim),
                    pool=batch.pool,
                    node_class=batch.node_class,
                )
            self.forget(name)

    def _batch_for(self, name: str) -> Batch | None:
        groups = (g.batch for g in self._groups.values() if name in g.launch.claims)
        batches = (b for b in self._batches.values() if name in b.names)
        return next(groups, None) or next(batches, None)

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
        return self._settle_write(name)

    def _settle_write(self, name: str) -> Batch | None:
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
        self._groups[group.launch.request.token] = group

    def group(self, token: str) -> Group | None:
        """Return the open group of a token."""
        return self._groups.get(token)

    def drop_group(self, token: str) -> Group | None:
        """End a group whose call will not be made."""
        return self._groups.pop(token, None)

    def reopen(self, group: Group) -> Batch:
        """Make a batch of what is left of a group."""
        names = (n for n in group.launch.claims if n in self._work)
        return self._open_batch(names, group.batch.pool, group.batch.node_class)

    def marked_now(self, name: str, token: str, claim: NodeClaim) -> Group | None:
        """Note that a claim is marked; return its group when all of it is."""
        if name in self._work:
            self._work[name].claim = claim
        self._by_token.setdefault(token, {})[name] = claim
        group = self._groups.get(token)
        if group is None or name not in group.unmarked:
            return None
        del group.unmarked[name]
        return None if group.unmarked else group

    def marked(self, token: str) -> tuple[NodeClaim, ...]:
        """Return all claims there are of one call, launched ones included, as last known."""
        known = self._by_token.get(token, {})
        return tuple(
            self._work[name].claim if name in self._work else claim for name, claim in sorted(known.items())
        )

    def all_leaving(self, token: str) -> bool:
        """Tell whether every claim of a call that still waits for its instance is to go."""
        known = self._by_token.get(token, {})
        return all(known[name].leaving for name in self.waiting_for(token))

    def waiting_for(self, token: str) -> tuple[str, ...]:
        """Return the claims of a call that are still to get their instance, sorted."""
        return tuple(sorted(name for name in self._by_token.get(token, {}) if name in self._work))

    def take_spans(self, name: str) -> tuple[Span, ...]:
        """Return, once, the spans of the call that `name` is the first claim of."""
        for group in self._groups.values():
            if group.launch.claims[0] == name:
                spans, group.spans = tuple(group.spans), []
                return spans
        return ()
