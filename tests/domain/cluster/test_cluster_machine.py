"""Facts and plans in any order: promises and room never contradict each other."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.builders import (
    START,
    bound_pod,
    claim,
    decided,
    node,
    node_class,
    node_pool,
    pending_pod,
    planned_claim,
    resources,
)
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import (
    ClusterObject,
    Kind,
    ObjectGone,
    ObjectSeen,
    Resynced,
    key_of,
    kind_of,
)
from treenail.domain.cluster.planning import Snapshot
from treenail.domain.model.nodes import INITIALIZED, REGISTERED, Condition, Node, NodeClaim, Status
from treenail.domain.model.pods import Pod
from treenail.domain.model.pool_limits import limits_left
from treenail.domain.model.resources import total
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.scheduling.commitment import commit

LASTS = timedelta(seconds=20)
ROOM = resources(cpu=4, pods=10)
LIMITS = resources(cpu=20, nodes=4)


class ClusterMachine(RuleBasedStateMachine):
    """An API server of its own (`there`), watched by the model, with late, repeated and lost facts."""

    def __init__(self) -> None:
        super().__init__()
        self.model = ClusterModel(promise_lasts=LASTS)
        self.now = START
        self.revision = 0
        self.there: dict[tuple[Kind, str], ClusterObject] = {}
        self.snapshots: list[Snapshot] = []
        self.decisions = 0
        self.serial = 0
        for thing in (node_pool(limits=LIMITS), node_class()):
            self.put(thing)

    @initialize(nodes=st.integers(0, 2), pods=st.integers(0, 8))
    def a_cluster_in_use(self, nodes: int, pods: int) -> None:
        for index in range(nodes):
            at_work = claim(f"c{index}", provider_id=f"aws:///a/i-{index}", initialized=True, room=ROOM)
            self.put(at_work)
            self.put(node(f"node-c{index}", provider_id=at_work.provider_id, room=ROOM))
        for _ in range(pods):
            self.a_pod_waits(told=True)

    # --- the API server

    def put(self, thing: ClusterObject, *, told: bool = True) -> None:
        self.revision += 1
        thing = replace(thing, resource_version=self.revision)
        self.there[kind_of(thing), key_of(thing)] = thing
        if told:
            self.model.learn(ObjectSeen(object=thing), self.now)
            self.model.take_changes()

    def gone(self, kind: Kind, key: str, *, told: bool = True) -> None:
        self.revision += 1
        del self.there[kind, key]
        if told:
            self.model.learn(ObjectGone(kind=kind, key=key), self.now)
            self.model.take_changes()

    def all(self, kind: Kind) -> list[ClusterObject]:
        return [thing for (k, _), thing in sorted(self.there.items()) if k is kind]

    def free_on(self, node_: Node) -> bool:
        """Whether a scheduler would still put a pod of one CPU there."""
        used = total(
            p.spec.requests for p in self.all(Kind.POD) if isinstance(p, Pod) and p.node_name == node_.name
        )
        return resources(cpu=1, pods=1).fits(node_.allocatable.minus(used))

    # --- what happens in the cluster

    @rule(told=st.booleans())
    def a_pod_waits(self, told: bool) -> None:  # noqa: FBT001
        self.serial += 1
        self.put(pending_pod(f"p{self.serial:03}"), told=told)

    @rule(count=st.integers(1, 4), data=st.data(), told=st.booleans())
    def the_scheduler_binds_pods_where_it_likes(self, count: int, data: st.DataObject, told: bool) -> None:  # noqa: FBT001
        for _ in range(count):
            waiting = [p for p in self.all(Kind.POD) if isinstance(p, Pod) and not p.node_name]
            open_ = [n for n in self.all(Kind.NODE) if isinstance(n, Node) and self.free_on(n)]
            if waiting and open_:
                pod, to = data.draw(st.sampled_from(waiting)), data.draw(st.sampled_from(open_))
                self.put(bound_pod(pod.uid, to.name), told=told)

    @rule(data=st.data(), told=st.booleans(), replaced=st.booleans())
    def a_pod_goes(self, data: st.DataObject, told: bool, replaced: bool) -> None:  # noqa: FBT001
        pods = self.all(Kind.POD)
        if pods:
            self.gone(Kind.POD, key_of(data.draw(st.sampled_from(pods))), told=told)
            if replaced:
                self.a_pod_waits(told=told)

    @rule(data=st.data(), told=st.booleans())
    def a_claim_gets_its_instance(self, data: st.DataObject, told: bool) -> None:  # noqa: FBT001
        bare = [c for c in self.claims() if not c.provider_id and not c.leaving]
        if bare:
            chosen = data.draw(st.sampled_from(bare))
            ready = replace(chosen, provider_id=f"aws:///a/i-{chosen.name}", capacity=ROOM, allocatable=ROOM)
            self.put(ready, told=told)

    def without_a_node(self) -> list[NodeClaim]:
        nodes = {n.provider_id for n in self.all(Kind.NODE) if isinstance(n, Node)}
        names = {n.name for n in self.all(Kind.NODE) if isinstance(n, Node)}
        launched = [c for c in self.claims() if c.provider_id]
        return [c for c in launched if c.provider_id not in nodes and f"node-{c.name}" not in names]

    @rule(data=st.data(), told=st.booleans(), knows=st.booleans())
    def a_node_joins_and_may_not_know_its_machine_yet(
        self,
        data: st.DataObject,
        told: bool,  # noqa: FBT001
        knows: bool,  # noqa: FBT001
    ) -> None:
        bare = self.without_a_node()
        if bare:
            of = data.draw(st.sampled_from(bare))
            provider_id = of.provider_id if knows else ""
            self.put(node(f"node-{of.name}", provider_id=provider_id, room=ROOM), told=told)

    @rule(data=st.data(), told=st.booleans())
    def a_node_learns_its_machine(self, data: st.DataObject, told: bool) -> None:  # noqa: FBT001
        claims = {f"node-{c.name}": c for c in self.claims()}
        nodes = [n for n in self.all(Kind.NODE) if isinstance(n, Node)]
        lost = [n for n in nodes if n.name in claims and not n.provider_id]
        if lost:
            chosen = data.draw(st.sampled_from(lost))
            self.put(replace(chosen, provider_id=claims[chosen.name].provider_id), told=told)

    @rule(data=st.data(), told=st.booleans())
    def a_new_machine_takes_the_name_of_another(self, data: st.DataObject, told: bool) -> None:  # noqa: FBT001
        taken = [n for n in self.all(Kind.NODE) if isinstance(n, Node) and n.provider_id]
        bare = self.without_a_node()
        if taken and bare:
            name = data.draw(st.sampled_from(taken)).name
            self.put(
                node(name, provider_id=data.draw(st.sampled_from(bare)).provider_id, room=ROOM), told=told
            )

    @rule(data=st.data(), told=st.booleans())
    def a_node_is_cordoned_or_opened(self, data: st.DataObject, told: bool) -> None:  # noqa: FBT001
        nodes = [n for n in self.all(Kind.NODE) if isinstance(n, Node)]
        if nodes:
            chosen = data.draw(st.sampled_from(nodes))
            self.put(replace(chosen, unschedulable=not chosen.unschedulable), told=told)

    @rule(data=st.data(), told=st.booleans())
    def a_node_is_initialized(self, data: st.DataObject, told: bool) -> None:  # noqa: FBT001
        joined = [
            c for c in self.claims() if (Kind.NODE, f"node-{c.name}") in self.there and not c.initialized
        ]
        if joined:
            chosen = data.draw(st.sampled_from(joined))
            done = (Condition(REGISTERED, Status.TRUE), Condition(INITIALIZED, Status.TRUE))
            self.put(replace(chosen, conditions=done), told=told)

    @rule(data=st.data(), told=st.booleans())
    def a_claim_is_deleted(self, data: st.DataObject, told: bool) -> None:  # noqa: FBT001
        claims = [c for c in self.claims() if not c.leaving]
        if claims:
            self.put(replace(data.draw(st.sampled_from(claims)), deleting_since=self.now), told=told)

    @rule(data=st.data(), told=st.booleans())
    def a_deleted_claim_goes_with_its_node(self, data: st.DataObject, told: bool) -> None:  # noqa: FBT001
        leaving = [c for c in self.claims() if c.leaving]
        if not leaving:
            return
        chosen = data.draw(st.sampled_from(leaving))
        on_node = f"node-{chosen.name}"
        for pod in self.all(Kind.POD):
            if isinstance(pod, Pod) and pod.node_name == on_node:
                self.gone(Kind.POD, pod.uid, told=told)
        if (Kind.NODE, on_node) in self.there:
            self.gone(Kind.NODE, on_node, told=told)
        self.gone(Kind.NODE_CLAIM, chosen.name, told=told)

    @rule()
    def an_unclaimed_node_is_there(self) -> None:
        if (Kind.NODE, "old") not in self.there:
            self.put(node("old", room=ROOM))

    def claims(self) -> list[NodeClaim]:
        return [c for c in self.all(Kind.NODE_CLAIM) if isinstance(c, NodeClaim)]

    # --- what the watch does

    @rule()
    def everything_is_listed_anew(self) -> None:
        self.model.learn(Resynced(revision=self.revision, objects=tuple(self.there.values())), self.now)
        self.model.take_changes()

    @rule(data=st.data())
    def a_fact_is_told_again(self, data: st.DataObject) -> None:
        if self.there:
            thing = self.there[data.draw(st.sampled_from(sorted(self.there)))]
            self.model.learn(ObjectSeen(object=thing), self.now)
            self.model.take_changes()

    @rule(seconds=st.integers(1, 30))
    def time_goes_by(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        self.model.expire_promises(self.now)

    # --- what we decide

    @rule()
    def a_snapshot_is_taken(self) -> None:
        self.snapshots.append(self.model.snapshot(self.now))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def a_plan_made_on_some_earlier_snapshot_is_committed(self, data: st.DataObject) -> None:
        self.decide(data.draw(st.sampled_from(self.snapshots)), data)

    @rule(data=st.data())
    def a_plan_is_made_and_committed_at_once(self, data: st.DataObject) -> None:
        self.decide(self.model.snapshot(self.now), data)

    def decide(self, snapshot: Snapshot, data: st.DataObject) -> None:
        """Commit a plan that fits the snapshot it was made on, out of date or not."""
        uids = [p.uid for p in snapshot.pods]
        claims: list[PlannedClaim] = []
        new = data.draw(st.integers(0, 2))
        while uids and len(claims) < new:
            take = data.draw(st.integers(1, min(4, len(uids))))
            claims.append(planned_claim(*uids[:take]))
            uids = uids[take:]
        nominations: dict[str, str] = {}
        for existing_node in snapshot.existing_nodes:  # what is left goes where there is room
            fits = max(0, existing_node.free.get("cpu", 0) // 1000)
            for uid in uids[:fits]:
                nominations[uid] = existing_node.name
            uids = uids[fits:]
        self.decisions += 1
        plan = decided(snapshot, *claims, nominations=nominations, name=f"d{self.decisions}")
        committed = commit(self.model, plan, now=self.now, promise_lasts=LASTS)
        for made in committed.claims:
            if data.draw(st.booleans()):
                self.put(replace(made, uid=f"uid-{made.name}"), told=data.draw(st.booleans()))
            else:
                self.model.mark_launch_failed(made.name)
        self.model.take_changes()

    @rule(data=st.data())
    def a_node_is_condemned_or_spared(self, data: st.DataObject) -> None:
        names = [v.name for v in self.model.objects.views()]
        if names:
            name = data.draw(st.sampled_from(names))
            (
                self.model.unmark
                if name in self.model.marks.for_disruption
                else self.model.mark_for_disruption
            )(name)
            self.model.take_changes()

    # --- what must always hold

    @invariant()
    def no_room_is_promised_twice(self) -> None:
        for target in self.model.promises.targets():
            view = self.model.objects.view(target)
            assert view is not None, f"{target} is promised but not there"
            assert not self.model.marks.going(view), f"{target} is promised but leaving"
            promised = self.model.promises.reserved(target)
            assert promised == total(p.requests for p in self.model.promises.at(target))
            bound = total(p.spec.requests for p in self.model.objects.pods_on(target))
            existing_node = view.allocatable if view.launched else ROOM
            assert promised.plus(bound).fits(existing_node), (
                f"{target} holds {bound}, promised {promised} of {existing_node}"
            )

    @invariant()
    def a_pod_with_a_node_has_no_promise_unless_it_must_move(self) -> None:
        for promise in self.model.promises.all():
            pod = self.model.objects.pods.get(promise.pod)
            if pod is not None and pod.bound:
                view = self.model.objects.view(self.model.objects.view_name(pod.node_name))
                assert promise.heir or view is None or self.model.marks.going(view)
            assert pod is not None or promise.heir, "a pod that is gone holds a place"
            lapses = promise.expected or promise.expires_at is not None
            assert pod is not None or lapses, "the place of a pod that is gone is kept for good"

    @invariant()
    def what_is_cached_is_what_is(self) -> None:
        objects = self.model.objects
        named = [objects.view(name) for name in (*sorted(objects.claims), *sorted(objects.nodes))]
        assert list(objects.views()) == [view for view in named if view is not None]
        for view in objects.views():
            cached = self.model.capacity.existing_node(view.name)
            self.model.capacity._existing_nodes.pop(view.name, None)
            assert self.model.capacity.existing_node(view.name) == cached
            there = sorted(
                p.uid for p in self.model.objects.pods.values() if p.bound and p.node_name == view.node_name
            )
            assert [p.uid for p in self.model.objects.pods_on(view.name)] == (there if view.node_name else [])
        for pool in self.model.objects.pools.values():
            claims = [c for c in self.model.objects.claims.values() if c.pool == pool.name]
            counted = [c for c in claims if c.name not in self.model.marks.launch_failed]
            assert self.model.capacity.limit_left(pool) == limits_left(pool, counted)

    @invariant()
    def the_limits_hold_for_what_we_decided(self) -> None:
        for pool in self.model.objects.pools.values():
            left = self.model.capacity.limit_left(pool)
            assert left is None or min(left.values()) >= 0


ClusterMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=100, deadline=None)
test_facts_and_plans_in_any_order_leave_promises_and_room_consistent = ClusterMachine.TestCase


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def test_a_promise_made_before_a_restart_is_found_on_the_claim() -> None:
    model = ClusterModel(promise_lasts=LASTS)
    model.learn(ObjectSeen(object=pending_pod("p1")), START)
    made = claim("c1", annotations={"treenail.sh/pods": "p1,p2", "treenail.sh/decision": "d1"})

    model.learn(ObjectSeen(object=made), START)
    model.learn(ObjectSeen(object=pending_pod("p2")), START)

    assert [p.pod for p in model.promises.at("c1")] == ["p1", "p2"]
    assert model.snapshot(START).pods == ()


def test_a_pod_of_a_leaving_node_hands_its_promise_to_its_successor() -> None:
    model = ClusterModel(promise_lasts=LASTS)
    for thing in (
        node_pool(),
        node_class(),
        claim("old", provider_id="aws:///a/i-old", initialized=True, room=ROOM),
        node("node-old", provider_id="aws:///a/i-old", room=ROOM),
        bound_pod("p1", "node-old"),
    ):
        model.learn(ObjectSeen(object=thing), START)
    model.mark_for_disruption("old")
    snapshot = model.snapshot(START)
    committed = commit(model, decided(snapshot, planned_claim("p1")), now=START, promise_lasts=LASTS)
    model.learn(ObjectGone(kind=Kind.POD, key="p1"), at(1))

    model.learn(ObjectSeen(object=pending_pod("p1-again")), at(2))

    assert [p.pod for p in model.promises.at(committed.claims[0].name)] == ["p1-again"]
    assert not model.waiting("p1-again")
