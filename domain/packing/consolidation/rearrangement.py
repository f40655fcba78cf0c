"""The rearrangement: the cluster as arrays, with the pods of candidates on their nodes, and trials on it.

A trial takes nodes away and places their pods elsewhere, by the same rules as any packing. It is undone, or
kept, and the next one starts from there. One packing context serves all trials: labels, terms and offerings
are read once for the whole cluster. What came of a trial is remembered, and is not looked for again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np

from treenail.domain.model import labels
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.packing.arrays.arrays import Axis, Floats, Indices
from treenail.domain.packing.attempt.attempt import Attempt
from treenail.domain.packing.consolidation.bought import Bought
from treenail.domain.packing.consolidation.candidate_pods import CandidatePods
from treenail.domain.packing.consolidation.class_fits import ClassFits
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode
from treenail.domain.packing.consolidation.emptiest_first import EmptiestFirst
from treenail.domain.packing.consolidation.saved_state import SavedState, StateChanges
from treenail.domain.packing.consolidation.trial import Removal, TopologyTies, Trial
from treenail.domain.packing.consolidation.trial_memory import TrialMemory
from treenail.domain.packing.context import PackingContext
from treenail.domain.packing.placement.existing_placement import ExistingPlacement
from treenail.domain.packing.planned.outcome import Outcome
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.topology_counts import TopologyGroup
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.refusal_reasons import furthest
from treenail.domain.packing.topology.class_constraints import TopologyConstraints

_NAMES: Final = frozenset({labels.HOSTNAME, labels.NODE_NAME})


class Rearrangement:
    """A cluster under one search. `problem` has all pods of the candidates, and its nodes are without these.

    At first every pod of a candidate is on its node. Nodes are filled in the order of `problem`: those to be
    kept come first. Mutable; one trial is under way at a time.
    """

    def __init__(self, problem: Problem, candidates: Sequence[CandidateNode]) -> None:
        self._context = PackingContext(problem)
        self._nodes = self._context.existing_nodes
        self._rows = {name: row for row, name in enumerate(self._nodes.names)}
        self._outcome = Outcome(self._context.parsed, self._nodes.names)
        self._placement = ExistingPlacement(self._nodes, self._context.universe, self._outcome)
        self._classes = {one.index: one for one in self._context.parsed.classes}
        self._keys = {pod.uid: pod.key for pod in problem.pods}
        self._pods = CandidatePods(self._context.parsed, candidates)
        self._scheduler = EmptiestFirst(problem, self._context, self._pods)
        self._memory = TrialMemory()
        self._fits = ClassFits(self._nodes)
        # The trial under way, and the state before it, None where the trial was known and nothing was done.
        self._trying: tuple[Removal, Trial] | None = None
        self._saved: SavedState | None = None
        # By state and removal, what trials changed that were kept, or may be kept later.
        self._changes: dict[tuple[int, Removal], StateChanges] = {}
        self._closed: tuple[Indices, Floats] | None = None
        self._settle_all()

    def begin_anew(self) -> None:
        """Put every pod of a candidate back onto its node, take off those that waited, and open all nodes."""
        self._trying = self._saved = self._closed = None
        self._context.parsed.groups.recount()
        self._nodes.clear()
        self._pods.put_back()
        self._settle_all()
        self._memory.begin_anew()

    @property
    def unpackable(self) -> Mapping[str, str]:
        """The reasons why pods, by uid, can be placed nowhere by packing, and so stay where they are."""
        parts = self._context.parsed.parts
        refused = self._context.parsed.refused
        return {pod.uid: refused[index].detail for index in sorted(refused) for pod in parts[index][1]}

    @property
    def axis(self) -> Axis:
        """The resources that stand for the columns (R) of arrays."""
        return self._context.parsed.axis

    @property
    def revision(self) -> int:
        """A number that changes whenever something is kept: where it is equal, all trials start alike."""
        return self._memory.state

    def likeness(self, name: str) -> tuple[object, ...]:
        """Return what candidates have in common where the same comes of taking either of them away.

        The names of the node are left out: pods that ask for one are of a class of their own.
        """
        row = self._rows[name]
        node = self._nodes.described(row)
        return (
            frozenset(item for item in node.labels.items() if item[0] not in _NAMES),
            node.taints,
            frozenset(node.residents),
            frozenset(node.attachable.items()),
            node.attached,
            self._nodes.free(np.array([row])).tobytes(),
            tuple((index, len(uids)) for index, uids in self._pods.on(name).items()),
        )

    def load(self, uids: Iterable[str]) -> Floats:
        """Return what these pods request together (R)."""
        total: Floats = np.zeros(len(self.axis.names))
        for index, some in self._pods.by_class(uids).items():
            total += self._requests(index) * len(some)
        return total

    def unplaced(self, uid: str, against: str = "") -> Blocker:
        """Return that a pod keeps its node, and what is `against` a new node for it."""
        return Block.POD_UNPLACED.by(self._keys[uid], against or "it fits on no other node")

    def _requests(self, index: int) -> Floats:
        one = self._classes.get(index)
        if one is not None:
            return one.requests
        return self._context.parsed.axis.requests(self._context.parsed.parts[index][0].spec.requests)

    def _settle_all(self) -> None:
        """Put the pods of candidates onto their nodes, whatever their rules say of that: they are there."""
        by_class: dict[int, list[tuple[int, int]]] = {}
        for name, pods in self._pods.on_each():
            for index, uids in pods.items():
                by_class.setdefault(index, []).append((self._rows[name], len(uids)))
        for index, there in sorted(by_class.items()):
            rows = np.array([row for row, _ in there], dtype=np.intp)
            counts = np.array([float(pods) for _, pods in there])
            kind = self._context.parsed.parts[index][0]
            self._nodes.take(rows, counts, self._requests(index), kind.volumes)
            if index in self._classes:
                self._note(self._classes[index], there)

    def _note(self, one: PodClass, there: Iterable[tuple[int, int]]) -> None:
        """Count pods of a class on existing nodes: (row, how many more)."""
        if one.relaxation.levels:
            constraints = self._context.constraint_reader.of(one, one.relaxation.levels[0])
            if constraints.counted or constraints.apart:
                for row, pods in there:
                    constraints.note_existing_node(row, self._nodes.labels(row), pods)

    # --- the pods that wait

    def place_waiting(self, uids: Iterable[str]) -> frozenset[str]:
        """Give the pods that wait their places first; return the existing nodes that take some of them.

        Those that find no place anywhere hold nothing up.
        """
        by_class = {
            index: len(some) for index, some in self._pods.by_class(uids).items() if index in self._classes
        }
        if not by_class:
            return frozenset()
        self._outcome.begin(by_class)
        Attempt(self._context, self._outcome).place()
        self._memory.go_on(tuple(by_class.items()))
        rows = {row for index in by_class for row, n in self._outcome.in_existing_nodes[index].items() if n}
        return frozenset(self._nodes.names[row] for row in rows)

    def close(self, names: Iterable[str]) -> None:
        """Move no pod onto these nodes."""
        rows = np.array(sorted(self._rows[name] for name in names if name in self._rows), dtype=np.intp)
        self._closed = rows, self._nodes.free(rows)
        self._nodes.close(rows)
        self._memory.go_on(("closed", *rows.tolist()))

    def reopen(self) -> None:
        """Let pods be moved onto the nodes again that were closed last."""
        if self._closed is not None:
            self._nodes.reopen(*self._closed)
            self._closed = None
            self._memory.go_on("reopened")

    # --- trials

    def stuck_pod(self, name: str) -> str:
        """Return a pod of a candidate, by uid, that fits on no other node as they are; "" where all may fit.

        A quick look: nodes are taken one class at a time, and where pods must be by domain is left out.
        """
        row = self._rows[name]
        for index, uids in self._pods.on(name).items():
            one = self._classes.get(index)
            if one is None:
                return uids[0]
            fits = self._fits.of(one, self.revision)
            if float(fits.sum() - fits[row]) < len(uids):
                return uids[0]
        return ""

    def without(self, names: Sequence[str], *, to_the_end: bool = False) -> Trial:
        """Try what becomes of the pods of candidates on the other nodes, if these are gone. Buys nothing.

        It ends with the first class that finds no place for all, unless `to_the_end`. The trial must be ended
        by `keep` or `undo`.
        """
        return self._try(Removal(names=tuple(names), to_the_end=to_the_end))

    def have_their_price(self, names: Sequence[str]) -> bool:
        """Return whether pods of candidates have preferences that may be given up for a price.

        What they prefer of zones, or of other groups of nodes, may not: how uneven a spread is can get worse
        step by step, and the next move would put it right again.
        """
        levels = [
            level for index in self._pods.on_all(names) for level in self._classes[index].relaxation.levels
        ]
        wished = (term for level in levels for term in level.terms if term not in level.firm)
        return any(level.wishes for level in levels) and all(term.per_node for term in wished)

    def without_bought(self, names: Sequence[str], *, required_only: bool = False) -> Trial:
        """Try it again with the nodes that would be bought for pods that find no place on others.

        With `required_only` no preference is kept. The trial must be ended by `keep` or `undo`.
        """
        return self._try(Removal(names=tuple(names), bought=True, required_only=required_only))

    def _try(self, removal: Removal) -> Trial:
        trial = self._memory.trial(removal, self._make)
        self._trying = removal, trial
        return trial

    def _make(self, removal: Removal) -> Trial:
        wanted = self._take_away(removal.names)
        if removal.bought:
            return self._placed_or_bought(removal)
        for one in self._largest_first(wanted):
            if self._place(one, wanted[one.index]) and not removal.to_the_end:
                break
        return self._trial(removal.names)

    def _placed_or_bought(self, removal: Removal) -> Trial:
        attempt = Attempt(self._context, self._outcome, required_only=removal.required_only)
        attempt.place()
        trial = self._trial(removal.names)
        if not trial.left:
            return trial
        against = furthest(attempt.why(self._classes[self._pods.class_of(trial.left[0])]))
        return trial if against is None else replace(trial, against=str(against))

    def ties(self, trial: Trial) -> TopologyTies:
        """Return by which groups a trial under way depends on other pods, and others on its pods."""
        classes = tuple(self._pods.on_all(trial.removed))
        asked: set[int] = set()
        for constraints in self._constraints_of(classes):
            bounds = (*constraints.by_domain, *constraints.by_node, *constraints.together)
            asked.update(restriction.group.index for restriction in bounds)
        return TopologyTies(frozenset(group.index for group in self._groups_of(classes)), frozenset(asked))

    def node_more(self, trial: Trial, bought: Bought) -> float:
        """Return what nodes cost, $/h, for those pods of the trial under way that may get no place.

        They are bought beside what other moves have `bought`. That is 0 where the scheduler, which prefers
        empty nodes, leaves no pod without a place.
        """
        saved = self._saved
        rows = np.arange(len(self._nodes.names))
        free = self._nodes.free(rows) if saved is None else saved.room.free
        return self._scheduler.node_more(trial, free, bought)

    def keep(self, trial: Trial) -> None:
        """Go on from the trial under way: its nodes are gone, and their pods are where it placed them."""
        if self._trying is None:
            raise RuntimeError("no trial is under way")
        removal, _ = self._trying
        key = self.revision, removal
        if self._saved is not None:
            self._changes[key] = self._saved.changes()
        elif key in self._changes:
            self._changes[key].make()
        else:
            self._make(removal)
        self._memory.go_on(removal)
        self._trying = self._saved = None
        self._pods.remove(trial.removed)

    def undo(self) -> None:
        """Put everything back to where it was before the last trial."""
        if self._trying is None:
            raise RuntimeError("no trial is under way")
        removal, trial = self._trying
        if self._saved is not None:
            # Such a trial is compared with others, and may be kept after that: its changes are remembered.
            if removal.bought and not trial.left:
                self._changes[self.revision, removal] = self._saved.changes()
            self._saved.restore()
        self._trying = self._saved = None

    def _take_away(self, names: Sequence[str]) -> dict[int, int]:
        """Begin a trial; return how many pods of each class are to be placed."""
        wanted = {index: len(uids) for index, uids in self._pods.on_all(names).items()}
        self._saved = SavedState.of(self._nodes, self._groups_of(wanted))
        for name in names:
            row = self._rows[name]
            for index, uids in self._pods.on(name).items():
                self._note(self._classes[index], ((row, -len(uids)),))
        self._nodes.close(np.array([self._rows[name] for name in names], dtype=np.intp))
        self._outcome.begin(wanted)
        self._placement.relying.clear()
        return wanted

    def _groups_of(self, classes: Iterable[int]) -> Iterator[TopologyGroup]:
        """Yield, once each, the topology groups that count pods of these classes or keep others from them."""
        seen: dict[int, TopologyGroup] = {}
        for constraints in self._constraints_of(classes):
            for group in (*constraints.counted, *constraints.apart):
                seen[group.index] = group
        yield from seen.values()

    def _constraints_of(self, classes: Iterable[int]) -> Iterator[TopologyConstraints]:
        """Yield what the terms of classes mean at each of their levels."""
        for index in classes:
            one = self._classes[index]
            for level in one.relaxation.levels:
                yield self._context.constraint_reader.of(one, level)

    def _largest_first(self, wanted: Mapping[int, int]) -> list[PodClass]:
        """Return classes by how much of what is free on an average node they ask for, the largest first."""
        return sorted(
            (self._classes[index] for index in wanted),
            key=lambda one: (-float(one.requests[0]), -float(one.requests[1]), one.index),
        )

    def _place(self, one: PodClass, pods: int) -> int:
        """Place pods of a class on existing nodes; return how many find no place."""
        left = pods
        for level in one.relaxation.levels:
            relaxed = self._context.constraint_reader.relaxed(one, level)
            constraints = relaxed.constraints
            if constraints.together:
                left -= self._placement.together(relaxed, left, begin=constraints.may_begin)
            else:
                left -= self._placement.placement(relaxed, left)
            if not left:
                break
        return left

    def _trial(self, names: Sequence[str]) -> Trial:
        """Name the pods of a trial: the oldest of each class go to existing nodes, then to claims."""
        uids = {index: iter(some) for index, some in self._pods.on_all(names).items()}
        outcome = self._outcome
        nominations = {
            uid: self._nodes.names[row]
            for index, dealt in uids.items()
            for row, count in sorted(outcome.in_existing_nodes[index].items())
            for uid in islice(dealt, count)
        }
        claims = tuple(
            replace(
                claim,
                pods=tuple(uid for index, n in sorted(parts.items()) for uid in islice(uids[index], n)),
            )
            for claim, parts in outcome.nodes
        )
        left = tuple(uid for rest in uids.values() for uid in rest)
        lost = sum(outcome.given_up[index] for index in uids)
        if lost and not left and self._saved is not None:
            lost = max(0, lost - self._given_up(names, self._saved))
        return Trial(removed=tuple(names), nominations=nominations, claims=claims, left=left, lost=lost)

    def _given_up(self, names: Sequence[str], before: SavedState) -> int:
        """Return how many preferences the pods of candidates went without `before` the present trial.

        Of each class one pod is taken off its node and put back: the others do as it does. The outcome of the
        trial is lost by that.
        """
        after = before.again()
        found = 0
        for name in names:
            row = self._rows[name]
            for index, uids in self._pods.on(name).items():
                before.restore()
                one = self._classes[index]
                self._nodes.take(np.array([row]), np.array([-1.0]), one.requests, None)
                self._note(one, ((row, -1),))
                self._nodes.close(np.delete(np.arange(len(self._nodes.names)), row))
                self._outcome.begin({index: 1})
                self._place(one, 1)
                found += self._outcome.given_up[index] * len(uids)
        after.restore()
        return found
