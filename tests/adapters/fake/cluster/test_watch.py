from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.adapters.fake.cluster.builders import (
    a_claim,
    a_daemon_set,
    a_deployment,
    a_node,
    a_pod,
    a_pool,
    a_spec,
    join,
    provider_id,
)
from tests.adapters.fake.cluster.rig import Listener, Rig
from treenail.adapters.api.workloads import ReplicaSet
from treenail.adapters.fake.cluster import ClusterFaults, ClusterSettings
from treenail.domain.cluster.cluster_facts import (
    ClusterFact,
    ClusterObject,
    Kind,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    Resynced,
    key_of,
    kind_of,
)
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.errors import PortError
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.patches import ClaimPatch


class Mirror:
    """Believes every fact, as a client would: what it holds is what it was told last."""

    def __init__(self) -> None:
        self.holds: dict[tuple[Kind, str], ClusterObject] = {}
        self.backwards = 0

    def tell(self, fact: ClusterFact, /) -> None:
        match fact:
            case ObjectSeen():
                key = (kind_of(fact.object), key_of(fact.object))
                known = self.holds.get(key)
                older = known is not None and known.resource_version > fact.object.resource_version
                self.backwards += older
                self.holds[key] = fact.object
            case ObjectGone():
                self.holds.pop((fact.kind, fact.key), None)
            case Resynced():
                self.holds = {(kind_of(thing), key_of(thing)): thing for thing in fact.objects}
            case ObjectSetAside():
                pass


def there(rig: Rig) -> dict[tuple[Kind, str], ClusterObject]:
    things: tuple[ClusterObject, ...] = (
        *rig.cluster.objects(NodePool),
        *rig.cluster.claims(),
        *rig.cluster.nodes(),
        *rig.cluster.pods(),
    )
    return {(kind_of(thing), key_of(thing)): thing for thing in things}


def test_a_full_list_comes_every_ten_minutes() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)

    rig.run(3_600)

    assert len(listener.of(Resynced)) == 7


def test_only_one_listens_at_a_time() -> None:
    rig = Rig()
    rig.watched()

    with pytest.raises(RuntimeError):
        rig.watched()


def test_pods_of_daemon_sets_are_told_too() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)

    rig.cluster.apply(a_daemon_set("log"), a_node("n-0"))
    rig.run(1)

    seen = {kind_of(fact.object) for fact in listener.of(ObjectSeen)}
    assert seen == {Kind.DAEMON_SET, Kind.NODE, Kind.POD}


def test_kinds_the_domain_has_no_name_for_are_not_told() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)

    rig.cluster.apply(a_deployment("inflate", 0))
    rig.run(1)

    assert listener.of(ObjectSeen) == []


def test_changes_arrive_a_little_later_and_those_of_one_instant_together() -> None:
    rig = Rig(settings=ClusterSettings(watch=(0.5, 0.5)))
    listener = rig.watched()
    rig.run(1)

    for number in range(3):
        rig.cluster.create_claim(a_claim(f"c-{number}"))
    rig.run(0.4)
    before = len(listener.of(ObjectSeen))
    rig.run(0.2)

    assert (before, len(listener.of(ObjectSeen))) == (0, 3)


# --- faults


def test_a_change_may_be_told_twice() -> None:
    rig = Rig(faults=ClusterFaults(watch_duplicate=1.0))
    listener = rig.watched()
    rig.run(1)

    rig.cluster.create_claim(a_claim("c-0"))
    rig.run(1)

    [first, second] = listener.of(ObjectSeen)
    assert first == second


def test_a_broken_watch_tells_nothing_until_a_full_list_heals_it() -> None:
    rig = Rig(faults=ClusterFaults(watch_drop=1.0))
    listener = rig.watched()
    rig.run(1)

    claim = rig.cluster.create_claim(a_claim("c-0"))
    rig.cluster.faults = ClusterFaults()
    rig.cluster.create_claim(a_claim("c-1"))
    rig.run(4)
    before = list(listener.facts)
    rig.run(30)
    rig.cluster.delete_claim("c-0", uid=claim.uid)
    rig.run(1)

    assert [type(fact) for fact in before] == [Resynced]
    assert [type(fact) for fact in listener.facts] == [Resynced, Resynced, ObjectGone]
    assert len(listener.of(Resynced)[1].objects) == 2


def test_delayed_changes_keep_the_order_of_each_object() -> None:
    rig = Rig(faults=ClusterFaults(watch_delay_seconds=20.0))
    listener = rig.watched()
    rig.run(1)

    for name in ("a", "b", "c"):
        rig.cluster.create_claim(a_claim(name))
    for number in range(5):
        for name in ("a", "b", "c"):
            rig.cluster.patch_claim(name, ClaimPatch(labels={"n": str(number)}))
    rig.run(5)
    early = len(listener.facts)
    rig.run(20)

    told = [fact.object.resource_version for fact in listener.of(ObjectSeen)]
    of_a = [f.object.resource_version for f in listener.of(ObjectSeen) if key_of(f.object) == "a"]
    assert len(told) == 18
    assert early < 18
    assert told != sorted(told)
    assert of_a == sorted(of_a)


def test_delays_that_end_let_nothing_overtake() -> None:
    rig = Rig(faults=ClusterFaults(watch_delay_seconds=20.0))
    listener = rig.watched()
    rig.run(1)

    claim = rig.cluster.create_claim(a_claim("c-0"))
    rig.cluster.faults = ClusterFaults()
    rig.cluster.delete_claim("c-0", uid=claim.uid)
    rig.run(30)

    assert [type(fact) for fact in listener.facts] == [Resynced, ObjectSeen, ObjectGone]


def test_a_full_list_ends_what_was_still_on_its_way() -> None:
    rig = Rig(settings=ClusterSettings(resync=10.0), faults=ClusterFaults(watch_delay_seconds=100.0))
    mirror = Mirror()
    rig.cluster.feed(mirror)
    rig.run(9)
    claim = rig.cluster.create_claim(a_claim("c-0"))
    rig.cluster.delete_claim("c-0", uid=claim.uid)
    rig.cluster.faults = ClusterFaults()

    rig.run(200)

    assert mirror.holds == {}


@pytest.mark.seeds(quick=15, soak=500)
def test_whatever_goes_wrong_a_listener_ends_up_with_what_is_there(seed: int) -> None:
    rig = Rig(
        seed=seed,
        faults=ClusterFaults(
            conflict=0.1,
            answer_lost=0.1,
            unavailable=0.1,
            watch_duplicate=0.1,
            watch_drop=0.02,
            watch_delay_seconds=5.0,
        ),
    )
    mirror = Mirror()
    rig.cluster.feed(mirror)
    dice = random.Random(seed)
    rig.cluster.apply(a_pool("default"), a_deployment("web", 3), a_daemon_set("log"))

    for step in range(60):
        something_happens(rig, dice, step)
        rig.run(dice.uniform(0, 8))
    rig.cluster.faults = ClusterFaults()
    rig.run(60)

    wanted = {key: thing.wanted for (_, key), thing in mirror.holds.items() if isinstance(thing, Workload)}
    assert wanted == {one.uid: one.replicas for one in rig.cluster.objects(ReplicaSet) if one.replicas}
    others = (Kind.DAEMON_SET, Kind.REPLICA_SET)
    assert {key: thing for key, thing in mirror.holds.items() if key[0] not in others} == there(rig)
    assert mirror.backwards == 0


def something_happens(rig: Rig, dice: random.Random, step: int) -> None:
    acts: list[Callable[[], object]] = [
        lambda: rig.cluster.scale("web", dice.randrange(8)),
        lambda: join(rig, f"n-{step}", after=dice.uniform(0, 5)),
        lambda: rig.cluster.leave(provider_id(f"n-{dice.randrange(step + 1)}")),
        lambda: rig.cluster.create_claim(a_claim(f"c-{dice.randrange(5)}")),
        lambda: rig.cluster.patch_claim(f"c-{dice.randrange(5)}", ClaimPatch(labels={"n": str(step)})),
        lambda: rig.cluster.delete("NodeClaim", f"c-{dice.randrange(5)}"),
        lambda: rig.cluster.apply(a_pod(f"p-{step}", spec=a_spec(cpu=f"{dice.randrange(3)}"))),
        lambda: rig.cluster.delete("Pod", dice.choice(rig.cluster.pods()).name),
    ]
    act = dice.choice(acts)
    try:
        act()
    except (PortError, IndexError):
        return


def test_a_listener_of_every_change_hears_it_as_it_is_stored() -> None:
    rig = Rig()
    heard: list[tuple[str, bool, bool, int]] = []
    rig.cluster.on_change(
        lambda c: heard.append((c.address[1], c.before is None, c.after is None, c.revision))
    )

    claim = rig.cluster.create_claim(a_claim("c-0"))
    rig.cluster.patch_claim("c-0", ClaimPatch(labels={"a": "1"}))
    rig.cluster.delete_claim("c-0", uid=claim.uid)

    assert heard == [("c-0", True, False, 1), ("c-0", False, False, 2), ("c-0", False, True, 3)]


def test_who_is_told_of_a_change_may_change_more() -> None:
    rig = Rig()
    heard: list[tuple[str, int]] = []

    def react(kind: str, revision: int) -> None:
        if kind == "NodePool":
            rig.cluster.create_claim(a_claim("c-0"))
        heard.append((kind, revision))

    rig.cluster.on_change(lambda change: react(change.kind, change.revision))
    second = Listener()
    rig.cluster.on_change(lambda change: second.tell(change.revision))

    rig.cluster.apply(a_pool("default"))

    assert heard == [("NodePool", 1), ("NodeClaim", 2)]
    assert second.facts == [1, 2]


def test_a_server_that_is_away_tells_no_changes_and_lists_them_once_it_is_back() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)
    rig.cluster.apply(a_node("on-its-way"))
    rig.cluster.unavailable_until(31.0)
    told = len(listener.facts)

    rig.cluster.apply(a_node("n-0"))
    rig.run(29.9)
    meanwhile = len(listener.facts)
    rig.run(1)

    assert meanwhile == told
    assert [type(fact) for fact in listener.facts[told:]] == [Resynced]
    assert {key_of(thing) for thing in listener.of(Resynced)[-1].objects} == {"on-its-way", "n-0"}
    rig.cluster.apply(a_node("n-1"))
    rig.run(1)
    assert "n-1" in {key_of(fact.object) for fact in listener.of(ObjectSeen)}


def test_a_server_that_is_away_lists_nothing_to_who_begins_to_watch() -> None:
    rig = Rig()
    rig.cluster.unavailable_until(700.0)

    listener = rig.watched()
    rig.run(699.9)
    meanwhile = list(listener.facts)
    rig.run(1)

    assert meanwhile == []
    assert len(listener.of(Resynced)) == 1


def test_a_watch_that_was_stopped_stays_so_when_the_server_is_back() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)
    rig.cluster.unavailable_until(31.0)
    rig.cluster.stop()
    told = len(listener.facts)

    rig.run(60)

    assert len(listener.facts) == told
