"""Storms of wishes that change: nothing is bought twice, no limit is exceeded, and no pod is left waiting."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.actors.cluster_rig import Knowing
from tests.builders import START, claim_of, decided, node_of, pending_pod, planned_claim, resources, view
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind
from treenail.domain.cluster.planning import PlanDecided, SnapshotTaken
from treenail.domain.cluster.workloads import Workload
from treenail.domain.disruption.disruption import DisruptNodes
from treenail.domain.model.claims import expected_pods, promised_pods
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.pods import Phase, Pod
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Reason, Refusal

PER_NODE = 4
OWNERS = ("api", "jobs", "web")
REACHED = Refusal(pool="default", reason=Reason.LIMIT_REACHED, detail="the limit of cpu is reached")


class Storm:
    """A controller manager, a scheduler and machines, all by lot, around one cluster state."""

    def __init__(self, seed: int, *, limit: int) -> None:
        self.dice = random.Random(seed)
        self.limit = limit
        self.version, self.made, self.decisions, self.answered = 10, 0, 0, 0
        self.workloads = {
            owner: Workload(uid=owner, kind="ReplicaSet", name=owner, resource_version=1) for owner in OWNERS
        }
        self.pods: dict[str, Pod] = {}
        self.claims: dict[str, NodeClaim] = {}
        # All there ever were: one that was given up does not come back.
        self.written: set[str] = set()
        self.made_at = dict.fromkeys(OWNERS, START)
        self.ready: dict[str, str] = {}
        self.stage = Knowing(*self.workloads.values(), limits=resources(cpu=limit * PER_NODE))

    def next(self) -> int:
        self.version += 1
        return self.version

    def step(self) -> None:
        happens = self.dice.choice(
            (
                self.make,
                self.make,
                self.make,
                self.wish,
                self.hold,
                self.lose,
                self.launch,
                self.bind,
                self.wait,
            )
        )
        happens()
        self.decide()
        self.check()
        if self.dice.random() < 0.02:
            self.restart()

    def wish(self) -> None:
        owner = self.dice.choice(OWNERS)
        self.tell(replace(self.workloads[owner], wanted=self.dice.choice((0, 1, 5, 12, 30))))
        surplus = self.of(owner)[self.workloads[owner].wanted :]
        for pod in surplus:
            self.end(pod)

    def hold(self) -> None:
        owner = self.dice.choice(OWNERS)
        held = "" if self.workloads[owner].held else "its pods cannot be made: exceeded quota"
        self.tell(replace(self.workloads[owner], held=held))

    def tell(self, workload: Workload) -> None:
        self.workloads[workload.uid] = replace(workload, resource_version=self.next())
        self.stage.see(self.workloads[workload.uid])
        self.obey()

    def obey(self) -> None:
        """Delete the claims that were given up: nothing was bought for them yet."""
        orders = self.stage.arbiter.of(DisruptNodes)
        names = [one.name for order in orders for one in order.nodes]
        for name in (name for name in names if name in self.claims):
            assert name not in self.ready
            del self.claims[name]
            self.stage.lose(Kind.NODE_CLAIM, name)

    def of(self, owner: str) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.owner is not None and pod.owner.uid == owner]

    def make(self, most: int = 6, owner: str = "") -> None:
        owner = owner or self.dice.choice(OWNERS)
        self.made_at[owner] = self.stage.now()
        workload = self.workloads[owner]
        gap = 0 if workload.held else workload.wanted - len(self.of(owner))
        for _ in range(min(gap, self.dice.randint(1, most))):
            self.made += 1
            pod = replace(
                pending_pod(f"{owner}-{self.made}", owner=owner, version=self.next()),
                created_at=self.stage.now(),
                unschedulable_since=self.stage.now() if self.dice.random() < 0.7 else None,
            )
            self.put(pod)

    def make_in_time(self) -> None:
        """Make pods of workloads whose last ones came so long ago that they are soon expected no more."""
        for owner in OWNERS:
            if self.stage.now() - self.made_at[owner] > timedelta(seconds=15):
                self.make(owner=owner)

    def put(self, pod: Pod) -> None:
        self.pods[pod.uid] = pod
        self.stage.see(pod)
        self.obey()

    def lose(self) -> None:
        if self.pods:
            pod = self.pods[self.dice.choice(sorted(self.pods))]
            self.end(pod)
            owner = pod.owner
            if owner is not None:
                self.tell(self.workloads[owner.uid])

    def end(self, pod: Pod) -> None:
        del self.pods[pod.uid]
        self.stage.lose(Kind.POD, pod.uid)
        self.obey()

    def launch(self) -> None:
        self.obey()
        coming = [name for name in self.claims if name not in self.ready]
        for name in coming[: self.dice.randint(1, 3)]:
            if name not in self.claims:
                continue  # given up meanwhile
            there = view(name, room=resources(cpu=PER_NODE, pods=10))
            written = claim_of(there)
            annotations = {**self.claims[name].annotations}
            self.claims[name] = replace(written, annotations=annotations, resource_version=self.next())
            self.ready[name] = there.node_name
            self.stage.see(self.claims[name], replace(node_of(there), resource_version=self.next()))
            self.obey()

    def bind(self) -> None:
        """Bind pods as the scheduler does: any pod to any node with room; mark the others unschedulable."""
        for pod in sorted(self.pods.values(), key=lambda _: self.dice.random()):
            if pod.node_name:
                continue
            room = [name for name in self.ready.values() if self.on(name) < PER_NODE]
            now = self.stage.now()
            if room:
                self.put(
                    replace(
                        pod, node_name=room[0], phase=Phase.RUNNING, resource_version=self.next(), ready=True
                    )
                )
            elif pod.unschedulable_since is None:
                self.put(replace(pod, unschedulable_since=now, resource_version=self.next()))

    def on(self, node: str) -> int:
        return sum(pod.node_name == node for pod in self.pods.values())

    def wait(self) -> None:
        self.stage.run(self.dice.choice((0.1, 1, 5, 12)))

    def decide(self) -> None:
        """Close a batch where pods wait, and answer each snapshot."""
        if any(self.stage.model.waiting(uid) for uid in self.pods):
            self.decisions += 1
            self.stage.close_batch(f"d{self.decisions}")
        while len(taken := self.stage.selector.of(SnapshotTaken)) > self.answered:
            self.stage.tell(self.plan(taken[self.answered]))
            self.answered += 1
            self.write()
            self.obey()

    def plan(self, taken: SnapshotTaken) -> PlanDecided:
        """Return a plan of so many pods a claim, up to the limit, after what is free is filled."""
        snapshot = taken.snapshot
        # Not those that wait first: whoever expects pods has to see to that.
        uids = sorted((pod.uid for pod in snapshot.pods), key=lambda _: self.dice.random())
        free = {
            node.name: node.free["cpu"] // 1000
            for node in snapshot.existing_nodes
            if node.open and node.free["cpu"] >= 1000
        }
        nominations: dict[str, str] = {}
        for target, number in free.items():
            nominations.update((uids.pop(0), target) for _ in range(min(number, len(uids))))
        left = self.limit - len(self.claims)
        parts = [uids[at : at + PER_NODE] for at in range(0, len(uids), PER_NODE)]
        plan = decided(
            snapshot,
            *(planned_claim(*part) for part in parts[:left]),
            nominations=nominations,
            name=taken.decision.id,
        )
        refused = tuple(uid for part in parts[left:] for uid in part)
        if refused:
            group = RefusedClass(pods=refused, refusals=(REACHED,))
            plan = replace(plan, plan=replace(plan.plan, refused=(group,)))
        return plan

    def write(self) -> None:
        for committed in self.stage.committed():
            for claim in committed.claims:
                if claim.name not in self.written:
                    self.written.add(claim.name)
                    self.claims[claim.name] = replace(claim, resource_version=self.next())
                    self.stage.see(self.claims[claim.name])

    def restart(self) -> None:
        nodes = [self.stage.model.objects.nodes[name] for name in self.ready.values()]
        things: list[ClusterObject] = [*self.workloads.values(), *self.claims.values()]
        things += [*nodes, *self.pods.values()]
        seconds = (self.stage.now() - Knowing().now()).total_seconds()
        self.stage = Knowing(*things, limits=resources(cpu=self.limit * PER_NODE), seconds=seconds)
        self.answered = 0

    def check(self) -> None:
        model = self.stage.model
        assert len(self.claims) <= self.limit
        for owner, workload in self.workloads.items():
            to_come = model.promises.to_come(owner)
            gap = 0 if workload.held else max(0, workload.wanted - len(self.of(owner)))
            assert to_come <= gap, (owner, to_come, gap)

    def places(self) -> int:
        """Return for how many pods, there or still to come, all claims were made."""
        return sum(
            len(promised_pods(claim)) + sum(expected_pods(claim).values()) for claim in self.claims.values()
        )

    def calm(self) -> None:
        """Let all wishes come true, and time pass."""
        for owner in OWNERS:
            self.tell(replace(self.workloads[owner], held=""))
        for _ in range(400):
            self.make(most=30)
            self.launch()
            self.bind()
            self.decide()
            self.stage.run(1)
            self.check()


@pytest.mark.seeds(quick=25, soak=2000)
def test_whatever_is_wished_nothing_is_bought_twice_and_no_pod_waits_for_ever(seed: int) -> None:
    storm = Storm(seed, limit=200)

    for _ in range(150):
        storm.step()
    storm.calm()

    assert all(pod.node_name for pod in storm.pods.values())
    wanted = sum(workload.wanted for workload in storm.workloads.values())
    assert len(storm.pods) == wanted
    assert not any(storm.stage.model.promises.to_come(owner) for owner in OWNERS)


@pytest.mark.seeds(quick=25, soak=2000)
def test_pods_that_wait_get_what_limits_leave_before_those_to_come(seed: int) -> None:
    storm = Storm(seed, limit=3)

    for _ in range(150):
        storm.step()
    storm.calm()

    bound = sum(bool(pod.node_name) for pod in storm.pods.values())
    assert bound >= min(len(storm.pods), len(storm.claims) * PER_NODE)


@pytest.mark.seeds(quick=25, soak=2000)
def test_places_are_bought_for_as_many_pods_as_are_wished_for_and_no_more(seed: int) -> None:
    storm = Storm(seed, limit=200)
    for owner in OWNERS:
        storm.tell(replace(storm.workloads[owner], wanted=30))

    for _ in range(150):
        storm.dice.choice((storm.make, storm.make, storm.launch, storm.bind))()
        storm.make_in_time()
        storm.decide()
        storm.check()
        storm.stage.run(storm.dice.choice((0.1, 1, 5)))
        if storm.dice.random() < 0.02:
            storm.restart()
    storm.calm()

    assert all(pod.node_name for pod in storm.pods.values())
    # Not nodes: the last claim of each decision is for as many pods as were left, and would be that small.
    assert storm.places() <= 90
