"""Karpenter's rule of consolidation (v1.14) as a plain model, run on a rehearsed cluster in place of ours.

What it decides is carried out by the rehearsed controller, so that only decisions differ: replacement first,
drained as any other node. Emptiness is left to the controller, whose rule it is as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster.objects import Change
from treenail.adapters.solver.inline import InlineSolver
from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.planning import PlanDecided, Snapshot
from treenail.domain.disruption.disruption import DisruptionProposed, allowed_disruptions
from treenail.domain.disruption.objections import objection
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import ConsolidationPolicy, NodePool
from treenail.domain.model.nodes import INITIALIZED, Node, NodeClaim, NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.packing.plan import PackingPlan, PlannedClaim
from treenail.domain.packing.problem import Packing, PackingSettings, PoolOffer, Problem
from treenail.domain.scheduling.reserved_offers import Stock

PASS_SECONDS: Final = 10.0
VALIDATION_SECONDS: Final = 15.0
SINGLE_SECONDS: Final = 180.0
MULTI_SECONDS: Final = 60.0
_MOST_AT_ONCE: Final = 100
_LEAST_FLEXIBLE: Final = 15
_STAMP_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What it would do: these views go, and at most one claim is bought for their pods."""

    names: tuple[str, ...]
    snapshot: Snapshot
    plan: PackingPlan

    @property
    def types(self) -> tuple[str, ...]:
        return self.plan.claims[0].instance_types if self.plan.claims else ()


class KarpentersRule:
    """Looks every ten seconds at what may go. `simulation_seconds` is what one simulation takes it.

    `commands` are what was decided and held, `rejected` how many were not valid any more after fifteen
    seconds; `seen` tells when each node was last simulated alone, `whys` why it stayed.
    """

    def __init__(
        self, rehearsal: Rehearsal, *, spot_to_spot: bool = False, simulation_seconds: float = 0.0
    ) -> None:
        self.rehearsal = rehearsal
        self.spot_to_spot = spot_to_spot
        self.simulation_seconds = simulation_seconds
        self.simulations = 0
        self.rejected = 0
        self.commands: list[Command] = []
        self.seen: dict[str, float] = {}
        self.whys: dict[str, str] = {}
        self._numbers = count(1)
        self._stocks: dict[str, tuple[float, Stock]] = {}
        self._changes = 0
        # What a pass looked at that found nothing: the same again would find nothing again.
        self._barren: object = None
        rehearsal.cluster.on_change(self._note)
        self._later(PASS_SECONDS, self._pass)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        world = self.rehearsal.world
        world.call_at(world.monotonic() + seconds, call)

    def _note(self, change: Change) -> None:
        """Count what may change a verdict: pods that come, go or are bound, claims in use."""
        match change.before, change.after:
            case Pod() as before, Pod() as after:
                same = (before.node_name, before.active) == (after.node_name, after.active)
            case NodeClaim() as before, NodeClaim() as after:
                same = (before.initialized, before.leaving) == (after.initialized, after.leaving)
            case Node(), Node():
                same = True
            case _:
                same = False
        self._changes += not same

    # --- one pass

    def _state(self) -> object:
        """Return all that the next verdicts depend on."""
        model = self.rehearsal.system.model
        fresh = (
            v.name
            for v in model.objects.views()
            if (p := model.objects.pools.get(v.pool)) is not None and not self._settled(v, p)
        )
        stocks = tuple(id(self._sold(pool)) for pool in model.objects.pools.values())
        return (
            self._changes,
            tuple(v.name for v in self._candidates()),
            frozenset(fresh),
            stocks,
            self._left(),
        )

    def _pass(self) -> None:
        if not self.rehearsal.process.alive:
            self._later(PASS_SECONDS, self._pass)
            return
        state = self._state()
        if state == self._barren:
            self._later(PASS_SECONDS, self._pass)
            return
        before = self.simulations
        command = self._multi() or self._single()
        took = (self.simulations - before) * self.simulation_seconds
        if command is None:
            self._barren = state
            self._later(took + PASS_SECONDS, self._pass)
        else:
            self._later(took + VALIDATION_SECONDS, lambda: self._validate(command))

    def _validate(self, command: Command) -> None:
        again = None
        names = {view.name for view in self._candidates()}
        if self.rehearsal.process.alive and names.issuperset(command.names):
            again = self._simulated(command.names)
        if (
            again is None
            or not set(command.types) <= set(again.types)
            or bool(command.types) != bool(again.types)
        ):
            self.rejected += 1
        else:
            self._act(again)
        self._later(PASS_SECONDS, self._pass)

    def _act(self, command: Command) -> None:
        self.commands.append(command)
        now, model = self.rehearsal.world.now(), self.rehearsal.system.model
        view = model.objects.view(command.names[0])
        assert view is not None
        decision = Decision(
            id=f"rule{next(self._numbers):06d}", opened_at=now, closed_at=now, pods=len(command.snapshot.pods)
        )
        planned = PlanDecided(
            decision=decision,
            snapshot=command.snapshot,
            plan=command.plan,
            considered=tuple(pool.name for pool in command.snapshot.pools),
            selected_at=now,
            packed_at=now,
        )
        proposal = DisruptionProposed(
            pool=view.pool, candidates=command.names, cause=Cause.DRIFTED, together=True, planned=planned
        )
        self.rehearsal.system.cluster.tell(proposal)

    # --- who may go

    def _candidates(self) -> list[NodeView]:
        """Return the views that may be consolidated, those first that cost most by what they disrupt."""
        model, now = self.rehearsal.system.model, self.rehearsal.world.now()
        found = []
        for view in model.objects.views():
            pool = model.objects.pools.get(view.pool)
            if view.claim is None or pool is None or pool.disruption.policy is ConsolidationPolicy.WHEN_EMPTY:
                continue
            proposal = DisruptionProposed(pool=pool.name, candidates=(view.name,), cause=Cause.DRIFTED)
            why = objection(model, view.name, proposal, now)
            if why is None and self._settled(view, pool) and not model.empty(view.name):
                found.append(view)
            elif why is not None:
                self.whys[view.name] = why.sentence
        return sorted(found, key=lambda v: (-self._price(v) / self._disruption(v), v.name))

    def _settled(self, view: NodeView, pool: NodePool) -> bool:
        """Return whether no pod came or left for as long as the pool says."""
        after = pool.disruption.consolidate_after
        if view.claim is None or after is None:
            return False
        last = view.claim.last_pod_event_at or view.claim.since(INITIALIZED)
        return self.rehearsal.world.now() - max(last, view.claim.since(INITIALIZED)) >= after

    def _disruption(self, view: NodeView) -> float:
        pods = self.rehearsal.system.model.objects.pods_of(view)
        return 1.0 + sum(max(0.0, eviction_cost(pod)) for pod in pods if pod.reschedulable)

    def _left(self) -> dict[str, int]:
        """Return how many more nodes of each pool budgets let go now."""
        model, now = self.rehearsal.system.model, self.rehearsal.world.now()
        left: dict[str, int] = {}
        for pool in model.objects.pools.values():
            views = [v for v in model.objects.views() if v.pool == pool.name and v.initialized]
            allowed = allowed_disruptions(pool, "Underutilized", len(views), now)
            used = sum(model.marks.going(v) or not (v.node and v.node.ready) for v in views)
            left[pool.name] = len(views) if allowed is None else max(0, allowed - used)
        return left

    # --- several at once, and one by one

    def _multi(self) -> Command | None:
        """Return the longest valid prefix that halving finds, as far as the time for it goes."""
        left, names = self._left(), list[str]()
        for view in self._candidates():
            if left.get(view.pool, 0) > 0 and len(names) < _MOST_AT_ONCE:
                left[view.pool] -= 1
                names.append(view.name)
        low, high, best = 1, len(names) - 1, None
        spent = 0.0
        while low <= high and spent <= MULTI_SECONDS:
            middle = (low + high) // 2
            found = self._simulated(tuple(names[: middle + 1]))
            spent += self.simulation_seconds
            if found is not None and (not found.plan.claims or self._other_type(found)):
                best, low = found, middle + 1
            else:
                high = middle - 1
        return best

    def _other_type(self, command: Command) -> bool:
        """Return whether the replacement is of no type that is removed, nor of a dearer one."""
        model = self.rehearsal.system.model
        views = [v for name in command.names if (v := model.objects.view(name)) is not None]
        same = [self._price(v) for v in views if v.labels.get(labels.INSTANCE_TYPE) in command.types]
        return not same or command.plan.claims[0].price < min(same)

    def _single(self) -> Command | None:
        left, spent = self._left(), 0.0
        waiting = sorted(self._candidates(), key=lambda view: self.seen.get(view.name, -1.0))
        for view in waiting:
            if spent > SINGLE_SECONDS:
                return None
            if left.get(view.pool, 0) <= 0:
                continue
            self.seen[view.name] = self.rehearsal.seconds + spent
            spent += self.simulation_seconds
            found = self._simulated((view.name,))
            if found is not None:
                return found
        return None

    # --- one simulation

    def _simulated(self, names: tuple[str, ...]) -> Command | None:
        """Return what to do where these go, None where they stay."""
        self.simulations += 1
        model, now = self.rehearsal.system.model, self.rehearsal.world.now()
        snapshot = model.snapshot(now, names)
        views = [v for name in names if (v := model.objects.view(name)) is not None]
        moving = {p.uid for v in views for p in model.objects.pods_of(v) if p.reschedulable}
        plan = InlineSolver().solve(self._problem(snapshot))
        refused = {uid for group in plan.refused for uid in group.pods}
        if refused & moving:
            self._stays(names, "not all pods would schedule")
            return None
        if len(plan.claims) > 1:
            self._stays(names, f"Can't remove without creating {len(plan.claims)} candidates")
            return None
        if not plan.claims:
            return Command(names=names, snapshot=snapshot, plan=plan)
        claim = self._cheaper(views, plan.claims[0])
        if claim is None:
            self._stays(names, "Can't replace with a cheaper node")
            return None
        return Command(names=names, snapshot=snapshot, plan=replace(plan, claims=(claim,)))

    def _stays(self, names: Sequence[str], why: str) -> None:
        if len(names) == 1:
            self.whys[names[0]] = why

    def _problem(self, snapshot: Snapshot) -> Problem:
        """Return the problem with first-fit's nodes, in which nodes with fresh pods take none."""
        model = self.rehearsal.system.model
        fresh = {
            v.name
            for v in model.objects.views()
            if (pool := model.objects.pools.get(v.pool)) is not None and not self._settled(v, pool)
        }
        return Problem(
            pods=snapshot.pods,
            existing_nodes=tuple(
                replace(one, open=one.open and one.name not in fresh) for one in snapshot.existing_nodes
            ),
            offers=tuple(self._offers(snapshot)),
            daemons=tuple(daemon.spec for daemon in snapshot.daemons),
            volumes=snapshot.volumes,
            namespaces=snapshot.namespaces,
            settings=PackingSettings(packing=Packing.FIRST_FIT_DESCENDING),
        )

    def _offers(self, snapshot: Snapshot) -> Iterator[PoolOffer]:
        for pool in snapshot.pools:
            left = snapshot.limits_left.get(pool.name)
            self._sold(pool)
            yield from self._stocks[pool.name][1].offers(pool, left, taken=snapshot.in_reservations)

    def _sold(self, pool: NodePool) -> tuple[InstanceType, ...]:
        known = self._stocks.get(pool.name)
        if known is None or self.rehearsal.seconds - known[0] >= _STAMP_SECONDS:
            node_class = self.rehearsal.system.model.objects.node_class(pool.node_class)
            assert node_class is not None
            types = self.rehearsal.ec2.instance_types(node_class, pool.kubelet or node_class.kubelet)
            stock = known[1] if known is not None and known[1].types is types else Stock.of(types)
            known = self._stocks[pool.name] = (self.rehearsal.seconds, stock)
        return known[1].types

    # --- prices

    def _price(self, view: NodeView) -> float:
        """Return what a node's own offering costs now, 0 where that is not known."""
        pool = self.rehearsal.system.model.objects.pools.get(view.pool)
        if pool is None:
            return 0.0
        wanted = tuple(view.labels.get(k) for k in (labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE))
        offers = ((t.name, o) for t in self._sold(pool) for o in t.offerings if t.name == wanted[0])
        return next((o.price for n, o in offers if (n, o.zone, o.capacity_type) == wanted), 0.0)

    def _cheaper(self, views: list[NodeView], claim: PlannedClaim) -> PlannedClaim | None:
        """Return the claim with those types alone that cost less than all that go, None where none does."""
        limit = sum(self._price(view) for view in views)
        spot = [v.labels.get(labels.CAPACITY_TYPE) == labels.SPOT for v in views]
        ways = claim.requirements.get(labels.CAPACITY_TYPE)
        from_spot = all(spot) and (ways is None or ways.has(labels.SPOT))
        if from_spot and not self.spot_to_spot:
            return None
        claim = _pinned(claim) if ways is None or ways.has(labels.SPOT) else claim
        pool = self.rehearsal.system.model.objects.pools[claim.pool]
        worst = {t.name: _worst(t, claim.requirements) for t in self._sold(pool)}
        kept = tuple(n for n in claim.instance_types if (price := worst.get(n)) is not None and price < limit)
        if from_spot and len(views) == 1:
            kept = kept[:_LEAST_FLEXIBLE] if len(kept) >= _LEAST_FLEXIBLE else ()
        return replace(claim, instance_types=kept, price=worst[kept[0]] or 0.0) if kept else None


def eviction_cost(pod: Pod) -> float:
    """Return what it costs to evict a pod: 1 for an ordinary one, from -10 to 10."""
    try:
        own = float(pod.annotations.get("controller.kubernetes.io/pod-deletion-cost", "0"))
    except ValueError:
        own = 0.0
    return max(-10.0, min(10.0, 1.0 + own / 2**27 + pod.spec.priority / 2**25))


def _pinned(claim: PlannedClaim) -> PlannedClaim:
    spot = Requirement(labels.CAPACITY_TYPE, frozenset((labels.SPOT,)))
    return replace(claim, requirements=claim.requirements.with_((spot,)))


def _worst(one: InstanceType, requirements: Requirements) -> float | None:
    """Return the dearest price a launch may come to: of what is reserved, else spot, else on demand."""
    sold = [o for o in one.offerings if o.available and requirements.intersects(o.requirements())]
    for way in (labels.RESERVED, labels.SPOT, labels.ON_DEMAND):
        prices = [o.price for o in sold if o.capacity_type == way]
        if prices:
            return max(prices)
    return None
