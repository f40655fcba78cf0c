"""What must hold of voluntary moves at every instant, and what they come to: counted as they happen."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import timedelta
from math import fsum
from typing import Final

from treenail.actors.runtime.world import Process
from treenail.actors.termination_actor.termination_actor import TerminationActor
from treenail.adapters.api.workloads import ReplicaSet
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster.objects import Change
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.disruption.disruption import allowed_disruptions
from treenail.domain.model import labels
from treenail.domain.model.claims import DECISION, replaced_nodes
from treenail.domain.model.nodes import INSTANCE_TERMINATING, Node, NodeClaim, NodeView, holds
from treenail.domain.model.pods import Pod
from treenail.domain.model.taints import DISRUPTED

SIX_HOURS: Final = 6 * 3600.0
# The causes of a node's end that nobody had to have: the last is what the plain rule's moves are called.
VOLUNTARY: Final = ("empty", "underutilized", "drifted")
# Calls under way may still be answered by a state that was so long ago.
_LATE_SECONDS: Final = 5.0
_CENT: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """A claim that was bought for the pods of others, by name: of what type, when, for whom."""

    claim: str
    kind: str
    at: float
    of: tuple[str, ...]


@dataclass(slots=True)
class Lineage:
    """Which claims were bought in place of which that were given up at will."""

    kinds: dict[str, str] = field(default_factory=dict)
    born: dict[str, float] = field(default_factory=dict)
    before: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Those that a move planned, whose decision has a number in its id; others were bought for pods whose room
    # somebody else took.
    planned: dict[str, None] = field(default_factory=dict)

    def note(self, claim: NodeClaim, at: float, names: dict[str, str], given_up: set[str]) -> None:
        """Take a claim in: `names` are the claims of nodes, by the node's name."""
        if claim.launched and claim.name not in self.kinds:
            self.kinds[claim.name] = f"{claim.instance_type}/{claim.capacity_type}"
            self.born[claim.name] = at
            before = (names.get(node, node) for node in replaced_nodes(claim))
            self.before[claim.name] = tuple(one for one in before if one in given_up)
            if "-" in claim.annotations.get(DECISION, ""):
                self.planned[claim.name] = None

    def returns(self) -> list[tuple[str, str, str]]:
        """Return chains of claims of which the third is what the first was, all within six hours."""
        found = []
        for name, befores in self.before.items():
            for middle in befores:
                for first in self.before.get(middle, ()):
                    same = self.kinds.get(first) == self.kinds.get(name) != self.kinds.get(middle)
                    if same and self.born[name] - self.born[first] < SIX_HOURS:
                        found.append((first, middle, name))
        return found

    def planned_returns(self) -> list[tuple[str, str, str]]:
        """Return those of them that a move went back by, whatever the step before it was."""
        return [chain for chain in self.returns() if chain[2] in self.planned]

    def likes(self) -> list[tuple[str, str]]:
        """Return claims that were bought in place of one alone that is just the same."""
        return [
            (befores[0], name)
            for name, befores in self.before.items()
            if len(befores) == 1 and self.kinds.get(befores[0]) == self.kinds[name]
        ]


class MoveWatch:
    """Watches a rehearsal. Raises AssertionError at the first thing that must not be, with when it was."""

    def __init__(self, rehearsal: Rehearsal, *, strict: bool = True) -> None:
        self.lineage = Lineage()
        self.evicted: Counter[str] = Counter()
        self.homeless: list[str] = []
        self.over_budget: list[str] = []
        self._strict = strict
        self._rehearsal = rehearsal
        self._claim_of: dict[str, str] = {}
        # The second from which on moves are counted as those of what is watched.
        self.since = 0.0
        # Evicted pods that ran for less than a minute, and those that were made since then.
        self.young = 0
        self.again = 0
        # By owner: its active pods, and how many there should be.
        self._active: dict[str, dict[str, None]] = {}
        self._wanted: dict[str, int] = {}
        self._gone: set[str] = set()
        self._read = 0
        self._lost: deque[tuple[float, str]] = deque(maxlen=100)
        # By node, the pods that the actor which evicts them knows to have ready places; by pod, when it heard
        # that it has none any more.
        self._placed: dict[str, frozenset[str]] = {}
        self._place_lost: dict[str, float] = {}
        self._tapped: Process | None = None
        rehearsal.cluster.on_change(self._note)

    def _note(self, change: Change) -> None:
        before, after = change.before, change.after
        self._listen()
        self._count(change)
        if isinstance(after, NodeClaim):
            if after.node_name:
                self._claim_of[after.node_name] = after.name
            self.lineage.note(after, self._rehearsal.seconds, self._claim_of, self._given_up())
        elif isinstance(before, Pod) and before.node_name and before.active:
            # Without a grace period it is gone at once.
            if after is None or (isinstance(after, Pod) and after.deleting_since is not None):
                self._leaves(before)
        elif isinstance(after, Node) and isinstance(before, Node):
            if DISRUPTED in after.taints and DISRUPTED not in before.taints:
                self._disrupted(after)
        elif after is None and isinstance(before, Node):
            self._lost.append((self._rehearsal.seconds, before.name))

    def _fail(self, what: str, into: list[str]) -> None:
        said = f"at {self._rehearsal.seconds:.3f} s: {what}"
        into.append(said)
        if self._strict:
            raise AssertionError(said)

    # --- evictions

    def _leaves(self, pod: Pod) -> None:
        """A pod that leaves a node of ours that is given up at will has a place, or there is room for it."""
        if pod.daemon or not self._rehearsal.process.alive or self._surplus(pod):
            return
        model = self._rehearsal.system.model
        view = model.objects.view(self._claim_of.get(pod.node_name, pod.node_name))
        if view is None or view.node is None or DISRUPTED not in view.node.taints:
            return
        if view.name not in self._given_up() or model.marks.loses_pods(view):
            return
        self.evicted[pod.labels.get("app", pod.name)] += 1
        lived = self._rehearsal.world.now() - (pod.scheduled_at or pod.created_at)
        self.young += lived < timedelta(minutes=1)
        watched = timedelta(seconds=self._rehearsal.seconds - self.since)
        self.again += self._rehearsal.world.now() - pod.created_at < watched
        if not self._under_way(pod) and not self._has_place(model, pod) and not self._room(model, pod):
            self._fail(f"{pod.key} was evicted from {pod.node_name} without a place to go", self.homeless)

    def _listen(self) -> None:
        """Hear what the controller tells the actor that evicts pods, also after a restart."""
        process = self._rehearsal.process
        if process is not self._tapped:
            self._tapped = process
            self._placed.clear()
            process.taps.append(self._hear)

    def _hear(self, actor: object, message: object) -> None:
        if not (isinstance(actor, TerminationActor) and isinstance(message, NodeChanged)):
            return
        placed = frozenset(uid for uid, ready in message.places.items() if ready)
        for uid in self._placed.get(message.name, frozenset()) - placed:
            self._place_lost[uid] = self._rehearsal.seconds
        self._placed[message.name] = placed

    def _under_way(self, pod: Pod) -> bool:
        """Return whether its eviction was sent before the controller heard that its place was taken.

        A call arrives that much later than it is sent. Whoever took the place was bound in between.
        """
        heard = self._place_lost.get(pod.uid)
        longest = self._rehearsal.conditions.cluster.latency[1]
        return heard is not None and self._rehearsal.seconds - heard <= longest

    def _surplus(self, pod: Pod) -> bool:
        """Return whether its owner has more pods than it should, so that it may be who deletes it."""
        owner = pod.owner.uid if pod.owner is not None else ""
        return len(self._active.get(owner, {}).keys() - {pod.uid}) >= self._wanted.get(owner, 0)

    def _count(self, change: Change) -> None:
        """Keep count of the pods of each ReplicaSet, and of how many it should have."""
        before, after = change.before, change.after
        if isinstance(after, ReplicaSet):
            self._wanted[after.uid] = after.replicas
        if isinstance(before, Pod) and before.owner is not None:
            self._active.setdefault(before.owner.uid, {}).pop(before.uid, None)
        if isinstance(after, Pod) and after.owner is not None and after.active:
            self._active.setdefault(after.owner.uid, {})[after.uid] = None

    def _given_up(self) -> set[str]:
        """Return the views given up at will, by name, less those that stayed: EC2 may take them later."""
        entries = self._rehearsal.timeline.entries
        for entry in entries[self._read :]:
            if entry.event == "DisruptNodes" and entry.fields["cause"] in VOLUNTARY:
                self._gone |= {self._claim_of.get(node, node) for node in _listed(entry.fields["nodes"])}
            elif entry.event == "NodeUncordoned":
                self._gone.discard(str(entry.fields["nodeClaim"]))
        self._read = len(entries)
        return self._gone

    def _has_place(self, model: ClusterModel, pod: Pod) -> bool:
        promise = model.promises.of(pod.uid)
        target = model.objects.view(promise.target) if promise is not None else None
        if target is None or target.node is None:
            return False
        lately = (name for at, name in self._lost if self._rehearsal.seconds - at < _LATE_SECONDS)
        return _takes(target) or target.node_name in lately

    def _room(self, model: ClusterModel, pod: Pod) -> bool:
        """Return whether some node in use has room for it by what it requests alone."""
        rooms = (model.capacity.existing_node(v.name) for v in model.objects.views() if _takes(v))
        return any(room is not None and pod.spec.requests.fits(room.free) for room in rooms)

    # --- budgets

    def _disrupted(self, node: Node) -> None:
        """No node is given up at will where more are being disrupted then than budgets allow for any reason.

        One that EC2 takes asks no budget.
        """
        pool = node.labels.get(labels.NODEPOOL, "")
        there = self._rehearsal.system.model.objects.pools.get(pool)
        if there is None or self._claim_of.get(node.name, node.name) not in self._given_up():
            return
        claims = {c.node_name: c for c in self._rehearsal.claims() if c.pool == pool}
        counted = [
            one
            for one in self._rehearsal.nodes()
            if (claim := claims.get(one.name)) is not None
            and claim.initialized
            and not (claim.leaving and holds(claim.conditions, INSTANCE_TERMINATING))
        ]
        used = sum(DISRUPTED in one.taints for one in counted)
        allowed = allowed_disruptions(there, "Underutilized", len(counted), self._rehearsal.world.now())
        # Those that ended since it was allowed counted then.
        slack = 1 if any(b.percent for b in there.disruption.budgets) else 0
        if allowed is not None and used > allowed + slack:
            self._fail(
                f"{used} of {len(counted)} nodes of {pool} go at a time, {allowed} may", self.over_budget
            )

    # --- what it came to

    def begin(self) -> None:
        """Count from now on."""
        self.since = self._rehearsal.seconds
        self.young = self.again = 0
        self.evicted.clear()

    @property
    def moves(self) -> Counter[str]:
        """How many nodes were given up at will, by cause."""
        counts: Counter[str] = Counter()
        for entry in self._rehearsal.timeline.entries:
            voluntary = entry.event == "DisruptNodes" and entry.fields["cause"] in VOLUNTARY
            if voluntary and entry.at >= self.since:
                counts[str(entry.fields["cause"])] += len(_listed(entry.fields["nodes"]))
        return counts

    @property
    def replaced(self) -> int:
        """How many nodes were given up at will for which others were bought."""
        born, before = self.lineage.born, self.lineage.before
        return len({one for name in before if born[name] >= self.since for one in before[name]})

    @property
    def last_move(self) -> float:
        """When the last node was given up at will; 0 where none was."""
        entries = reversed(self._rehearsal.timeline.entries)
        return next(
            (e.at for e in entries if e.event == "DisruptNodes" and e.fields["cause"] in VOLUNTARY), 0.0
        )

    def waves(self, since: float = 0.0) -> list[float]:
        """Return at which instants nodes were given up at will since second `since`."""
        entries = self._rehearsal.timeline.entries
        times = [e.at for e in entries if e.event == "DisruptNodes" and e.fields["cause"] in VOLUNTARY]
        return sorted({at for at in times if at >= since})


def _takes(view: NodeView) -> bool:
    node = view.node
    return node is not None and view.initialized and node.ready and not view.leaving


def _listed(names: object) -> list[str]:
    assert isinstance(names, list)
    return names


def hourly_price(rehearsal: Rehearsal) -> float:
    """Return what all instances there are cost at their present prices, in $/h."""
    return fsum(
        (rehearsal.ec2.spot_price(i.instance_type, i.zone) or i.price)
        if i.capacity_type == labels.SPOT
        else i.price
        for i in (record.instance for record in rehearsal.ec2.live())
    )
