"""What must hold after every step, and when a storm is over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster.objects import Change
from treenail.adapters.solver.inline import InlineSolver
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.model.fleets import LAUNCH_TAG
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.pool_limits import NODES
from treenail.domain.model.resources import Resources, total
from treenail.domain.packing.problem import PoolOffer, Problem
from treenail.domain.scheduling.reserved_offers import Stock


class Invariants:
    """Watches a rehearsal. Every check raises AssertionError with what is wrong and when."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self._revision = -1
        self._bought = 0
        # Which calls each claim was ever marked for, by name.
        self._tokens: defaultdict[str, dict[str, None]] = defaultdict(dict)
        rehearsal.cluster.on_change(self._note)
        rehearsal.world.after_step.append(self.check)

    def _note(self, change: Change) -> None:
        if isinstance(change.after, NodeClaim):
            mark = LaunchMark.of(change.after)
            if mark is not None:
                self._tokens[change.after.name][mark.token] = None

    def _fail(self, what: str) -> None:
        raise AssertionError(f"at {self._rehearsal.seconds:.3f} s: {what}")

    # --- after every step

    def check(self) -> None:
        model = self._rehearsal.system.model
        if model.revision != self._revision and self._rehearsal.process.alive:
            self._revision = model.revision
            self._check_promises()
        bought = self._rehearsal.ec2.calls.get("CreateFleet", 0)
        if bought != self._bought:
            self._bought = bought
            self._check_launches()
            self._check_limits()

    def _check_promises(self) -> None:
        """No room is booked twice."""
        model = self._rehearsal.system.model
        for target in model.promises.targets():
            view = model.objects.view(target)
            if view is None or model.marks.going(view):
                self._fail(f"{target} is promised though it is {'gone' if view is None else 'going'}")
                return
            if view.launched:
                bound = total(p.spec.requests for p in model.objects.pods_on(target))
                promised = model.promises.reserved(target)
                if not promised.plus(bound).fits(view.allocatable):
                    self._fail(f"{target} is booked twice: {promised} promised, {bound} bound")

    def _check_launches(self) -> None:
        """None is bought twice: no call gave more than it has claims, no claim was in two calls that gave."""
        bought: defaultdict[str, int] = defaultdict(int)
        for record in self._rehearsal.ec2.all_instances():
            bought[record.instance.tags.get(LAUNCH_TAG, "")] += 1
        members: defaultdict[str, int] = defaultdict(int)
        for name, tokens in self._tokens.items():
            gave = [t for t in tokens if bought.get(t)]
            if len(gave) > 1:
                self._fail(f"{name} was bought for by {gave}")
            for token in tokens:
                members[token] += 1
        for token, count in bought.items():
            if count > members[token]:
                self._fail(f"{count} instances were bought for the {members[token]} claims of {token}")

    def _check_limits(self) -> None:
        """No pool ever has more than its limits."""
        pools = self._rehearsal.system.model.objects.pools
        for pool in pools.values():
            if pool.limits is None:
                continue
            live = [
                r.instance.capacity
                for r in self._rehearsal.ec2.all_instances()
                if r.instance.live and r.instance.tags.get(pool.generation.pool_label) == pool.name
            ]
            used = total(live).plus({NODES: len(live)})
            over = {n: used.get(n, 0) for n, most in pool.limits.items() if used.get(n, 0) > most}
            if over:
                self._fail(f"{pool.name} has {Resources(over)} of {pool.limits}")

    # --- when all is calm

    @contextmanager
    def nothing_is_planned(self) -> Iterator[None]:
        """Check that no plan buys or promises anything meanwhile: what waits cannot be helped."""
        seen = len(self._rehearsal.timeline.entries)
        yield
        for entry in self._rehearsal.timeline.entries[seen:]:
            plan = entry.fields
            if entry.event == "PlanCommitted" and (plan["nodeClaims"] or plan["nominated"]):
                self._fail(f"{plan} was planned long after all was calm: {self._rehearsal.summary()}")

    def check_settled(self) -> None:
        """All pods run that can, every instance is some claim's and has a node, all traces hang together."""
        self._check_sides()
        self._check_pending()
        orphans = self._rehearsal.telemetry.orphans()
        if orphans:
            self._fail(f"{len(orphans)} spans name a parent that is not there: {orphans[0]}")

    def _check_sides(self) -> None:
        instances = {r.instance.provider_id for r in self._rehearsal.ec2.live()}
        claims = {c.provider_id for c in self._rehearsal.claims()}
        nodes = {n.provider_id for n in self._rehearsal.nodes()}
        if not instances == claims == nodes:
            self._fail(
                f"instances {sorted(instances)}, claims {sorted(claims)} and nodes {sorted(nodes)} differ"
            )

    def _check_pending(self) -> None:
        """No pod is left pending that fits somewhere, or for which something may still be bought."""
        rehearsal = self._rehearsal
        snapshot = rehearsal.system.model.snapshot(rehearsal.world.now())
        offers: list[PoolOffer] = []
        for pool in snapshot.pools:
            node_class = snapshot.node_classes[str(pool.node_class)]
            types = rehearsal.ec2.instance_types(node_class, pool.kubelet or node_class.kubelet)
            left = snapshot.limits_left.get(pool.name)
            offers += Stock.of(types).offers(pool, left, taken=snapshot.in_reservations)
        plan = InlineSolver().solve(
            Problem(
                pods=snapshot.pods,
                existing_nodes=snapshot.existing_nodes,
                offers=tuple(offers),
                daemons=tuple(d.spec for d in snapshot.daemons),
                volumes=snapshot.volumes,
                namespaces=snapshot.namespaces,
            )
        )
        if plan.claims or plan.nominations:
            self._fail(f"{len(snapshot.pods)} pods wait, and could be placed: {rehearsal.summary()}")
        waiting = [p for p in rehearsal.pods() if not p.node_name]
        known = {p.uid for p in snapshot.pods}
        lost = [p.key for p in waiting if p.uid not in known]
        if lost:
            self._fail(f"pods wait without being known to wait: {lost[:3]}")

    def check_empty(self) -> None:
        """Nothing is left, and every instance that ended did so for one cause."""
        self._check_sides()
        if self._rehearsal.ec2.live():
            self._fail(f"instances are left: {self._rehearsal.summary()}")
        nameless = [r.instance_id for r in self._rehearsal.history() if not r.cause]
        if nameless:
            self._fail(f"nobody knows why these ended: {nameless}")
