from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import (
    DEFAULT_CLASS,
    START,
    bound_pod,
    claim,
    claim_of,
    node,
    node_class,
    node_of,
    node_pool,
    pending_pod,
    resources,
    spec,
    view,
)
from tests.domain.models import IN_USE, LOGS, ROOM, daemon, existing_nodes, lose, model, promise, see
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind, ObjectGone, ObjectSeen, Resynced
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_pools import NodePool

# --- facts


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_no_newer_changes_nothing(version: int) -> None:
    known = model(node_pool(version=2), *IN_USE)

    see(known, replace(node_pool(version=version), weight=9))

    assert not known.take_changes()
    assert known.objects.pools["default"].weight == 0


def test_the_revision_grows_with_changes_only() -> None:
    known = model()
    before = known.revision

    known.take_changes()
    assert known.revision == before
    see(known, pending_pod("p1"))
    known.take_changes()

    assert known.revision == before + 1


def test_a_full_list_takes_away_what_it_does_not_name() -> None:
    known = model(*IN_USE, pending_pod("p1"), LOGS)
    kept = (pending_pod("p2"), *IN_USE[:1])

    known.learn(Resynced(revision=9, objects=kept), START)

    assert sorted(known.objects.pods) == ["p2"]
    assert sorted(known.objects.claims) == ["c1"]
    assert (known.objects.nodes, known.objects.pools, known.objects.node_classes, known.objects.daemons) == (
        {},
        {},
        {},
        {},
    )


def test_a_full_list_does_not_take_away_what_is_newer_than_it() -> None:
    known = model(pending_pod("p1", version=10))
    known.add_claim(claim("unwritten", version=0))

    known.learn(Resynced(revision=9, objects=()), START)

    assert sorted(known.objects.pods) == ["p1"]
    assert sorted(known.objects.claims) == ["unwritten"]


@pytest.mark.parametrize("kind", list(Kind))
def test_losing_what_was_never_there_changes_nothing(kind: Kind) -> None:
    known = model()

    lose(known, kind, "stranger")

    assert not known.take_changes()


@pytest.mark.parametrize(
    "change",
    [
        ObjectSeen(object=replace(node_pool(version=9), weight=3)),
        ObjectSeen(object=node_pool("other")),
        ObjectSeen(object=replace(node_class(version=9), user_data="x")),
        ObjectSeen(object=LOGS),
        ObjectGone(kind=Kind.NODE_POOL, key="default"),
        ObjectGone(kind=Kind.NODE_CLASS, key=str(DEFAULT_CLASS)),
    ],
)
def test_other_pools_classes_and_daemons_change_what_may_be_bought(change: ObjectSeen | ObjectGone) -> None:
    known = model()

    known.learn(change, START)

    assert known.take_changes().pools


@pytest.mark.parametrize("same", [node_pool(version=9), node_class(version=9)])
def test_a_new_status_alone_does_not_change_what_may_be_bought(same: ClusterObject) -> None:
    known = model()

    see(known, same)

    assert not known.take_changes()
    assert known.objects.store(Kind.NODE_POOL if isinstance(same, NodePool) else Kind.NODE_CLASS)


# --- nodes and claims as views


def test_a_claim_and_the_node_of_its_instance_are_one_view() -> None:
    known = model(*IN_USE)

    assert [v.name for v in known.objects.views()] == ["c1"]
    assert known.objects.view("c1") == view()
    assert known.objects.view("node-c1") is None
    assert known.objects.claim_of_instance("i-c1") == "c1"
    assert known.objects.claim_of_instance("i-other") is None


def test_a_node_nobody_claimed_is_a_view_of_its_own() -> None:
    known = model(node("n1", provider_id="aws:///a/i-1"), claim("c1"))

    assert [v.name for v in known.objects.views()] == ["c1", "n1"]
    assert known.objects.claim_of_instance("i-1") is None


def test_a_node_that_seemed_nobodys_becomes_part_of_the_claim_that_names_it() -> None:
    known = model(node_of(view()), pending_pod("p1"))
    promise(known, "p1", "node-c1")
    known.mark_for_disruption("node-c1")
    known.take_changes()

    see(known, claim_of(view()))

    assert list(known.take_changes().views) == ["node-c1", "c1"]
    assert [v.name for v in known.objects.views()] == ["c1"]
    assert known.marks.for_disruption == {}


def test_a_node_that_learns_its_instance_late_becomes_part_of_its_claim() -> None:
    known = model(claim_of(view()), node("node-c1", room=ROOM), pending_pod("p1"))
    assert existing_nodes(known) == {"node-c1": 4000, "c1": 4000}
    promise(known, "p1", "node-c1")

    see(known, replace(node_of(view()), resource_version=9))

    assert "node-c1" in known.take_changes().views
    assert [v.name for v in known.objects.views()] == ["c1"]
    assert known.promises.targets() == ()
    assert known.waiting("p1")


def test_a_node_of_the_same_name_on_another_machine_is_another_node() -> None:
    known = model(*IN_USE, claim("c2", provider_id="aws:///a/i-2"))

    see(known, node("node-c1", version=9, provider_id="aws:///a/i-2"))

    first, second = known.objects.view("c1"), known.objects.view("c2")
    assert first is not None
    assert second is not None
    assert (first.node_name, second.node_name) == ("", "node-c1")
    assert list(known.take_changes().views) == ["c1", "c2"]


def test_a_claim_that_goes_leaves_its_node_to_itself() -> None:
    known = model(*IN_USE)

    lose(known, Kind.NODE_CLAIM, "c1")

    assert list(known.take_changes().views) == ["c1", "node-c1"]
    assert known.objects.claim_of_instance("i-c1") is None


def test_a_node_that_goes_leaves_its_claim() -> None:
    known = model(*IN_USE, bound_pod("p1", "node-c1"))

    lose(known, Kind.NODE, "node-c1")

    assert known.objects.view("c1") == replace(view(), node=None)
    assert known.objects.pods_on("c1") == ()
    assert known.objects.pods_on("stranger") == ()
    assert list(known.take_changes().views) == ["c1"]


def test_a_claim_waiting_for_its_launch_names_what_it_is_launched_from() -> None:
    known = model(claim("new"), claim("leaving", leaving=True), *IN_USE)

    def from_(name: str) -> tuple[object, object]:
        there = known.objects.view(name)
        assert there is not None
        return known.objects.launches_from(there)

    assert from_("new") == (node_pool(), node_class())
    assert from_("leaving") == from_("c1") == (None, None)


# --- rooms and limits


def test_a_room_is_what_is_free_of_pods_promises_and_daemons_to_come() -> None:
    known = model(*IN_USE, bound_pod("p1", "node-c1"), pending_pod("p2"))
    promise(known, "p2", "c1")
    assert existing_nodes(known) == {"c1": 2000}

    see(known, replace(LOGS, spec=spec("500m")))
    assert existing_nodes(known) == {"c1": 1500}

    see(known, replace(daemon("d1", "node-c1"), spec=spec("500m")))
    assert existing_nodes(known) == {"c1": 1500}


def test_nodes_in_use_are_filled_before_those_on_their_way_each_by_the_names_of_nodes() -> None:
    known = model(
        claim("a", provider_id="aws:///a/i-a", room=ROOM),
        claim("unlaunched"),
        *IN_USE,
        node("b", room=ROOM),
        node("d", room=ROOM),
    )

    assert list(existing_nodes(known)) == ["b", "d", "c1", "a"]


def test_pools_come_heaviest_first_with_what_their_limits_leave() -> None:
    heavy = replace(node_pool("z", limits=resources(cpu=8)), weight=10)
    known = model(heavy, node_pool("a"), claim("c1", pool="z", room=ROOM))

    snapshot = known.snapshot(START)

    assert [p.name for p in snapshot.pools] == ["z", "default", "a"]
    assert snapshot.limits_left == {"z": resources(cpu=4)}
    lose(known, Kind.NODE_CLAIM, "c1")
    assert known.snapshot(START).limits_left == {"z": resources(cpu=8)}


def test_a_snapshot_has_the_labels_of_namespaces() -> None:
    known = model(Namespace(name="shop", resource_version=1, labels={"team": "a"}))
    assert known.snapshot(START).namespaces == {"shop": {"team": "a"}}

    see(known, Namespace(name="shop", resource_version=2, labels={"team": "b"}))
    assert known.take_changes().retry_refused
    assert known.snapshot(START).namespaces == {"shop": {"team": "b"}}

    lose(known, Kind.NAMESPACE, "shop")
    assert known.snapshot(START).namespaces == {}


def test_a_node_is_empty_with_nothing_but_daemons_and_no_promise() -> None:
    known = model(*IN_USE, daemon("d1", "node-c1"), pending_pod("p1"))
    assert known.empty("c1")

    promise(known, "p1", "c1")
    assert not known.empty("c1")
    see(known, bound_pod("p1", "node-c1", version=2))
    assert not known.empty("c1")


def test_a_node_is_empty_as_soon_as_its_last_pod_begins_to_stop() -> None:
    known = model(*IN_USE, bound_pod("p1", "node-c1"))
    assert not known.empty("c1")

    see(known, replace(bound_pod("p1", "node-c1", version=2), deleting_since=START))
    assert known.empty("c1")


def test_an_answer_that_comes_after_a_claims_end_does_not_bring_it_back() -> None:
    known = model(node_pool(), claim("c1"))
    lose(known, Kind.NODE_CLAIM, "c1")

    see(known, claim("c1", version=5))

    assert known.objects.claims == {}


def test_pods_that_had_their_node_when_first_heard_of_are_no_news() -> None:
    known = model(*IN_USE)
    see(known, bound_pod("old", "node-c1"))
    see(known, pending_pod("new"))
    see(known, bound_pod("new", "node-c1", version=2))

    assert {bound.pod.uid: bound.news for bound in known.take_changes().bound} == {"old": False, "new": True}
