from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.adapters.kubernetes.objects import node, node_pool, pod, provisioner, volume
from tests.adapters.kubernetes.rig import FAST, Rig, keys
from tests.adapters.kubernetes.scripted import GONE, Reply, Tree, status
from treenail.adapters.kubernetes.resources import NODE, NODE_POOL, PERSISTENT_VOLUME, POD, PROVISIONER
from treenail.domain.cluster.cluster_facts import Kind, ObjectGone, ObjectSeen, ObjectSetAside, key_of
from treenail.domain.model.events import ObjectRef


def test_all_there_is_comes_first_whichever_resources_are_served() -> None:
    with Rig() as rig:
        rig.server.serve(NODE_POOL, node_pool("default", 3), revision=5)
        rig.server.serve(NODE, node("n-0", 4), revision=6)
        rig.server.serve(POD, pod("a", 1), pod("b", 2), revision=7)

        listed = rig.start()

    assert keys(listed) == ["default", "n-0", "uid-a", "uid-b"]
    assert listed.set_aside == ()


def test_a_full_list_is_as_old_as_the_oldest_list_it_is_made_of() -> None:
    with Rig() as rig:
        rig.server.serve(NODE, revision=60)
        rig.server.serve(POD, revision=7)

        assert rig.start().revision == 7


def test_long_lists_are_read_in_pages() -> None:
    with Rig(replace(FAST, page=2)) as rig:
        rig.server.serve(POD, *(pod(f"p-{n}", n + 1) for n in range(5)), revision=9)

        listed = rig.start()
        asked = rig.server.requests(POD)

    assert len(listed.objects) == 5
    assert [a.query.get("continue") for a in asked] == [None, "2", "4"]


def test_a_list_whose_page_expires_begins_anew() -> None:
    first = json.dumps({"metadata": {"resourceVersion": "1", "continue": "x"}, "items": [pod("old", 1)]})
    with Rig() as rig:
        rig.server.serve(POD, pod("a", 2), revision=9)
        rig.server.lists(POD, Reply(body=first.encode()), GONE)

        assert keys(rig.start()) == ["uid-a"]


def test_a_list_whose_pages_expire_again_and_again_is_asked_for_in_one_piece() -> None:
    with Rig() as rig:
        rig.server.serve(POD, pod("a", 2), revision=9)
        rig.server.lists(POD, GONE, GONE, GONE)

        rig.start()
        asked = rig.server.requests(POD)

    assert [a.query.get("limit") for a in asked] == ["500", "500", "500", None]


@pytest.mark.parametrize(
    "reply",
    [
        status(500, "InternalError"),
        status(403, "Forbidden"),
        status(429, "TooManyRequests", headers={"Retry-After": "0"}),
        Reply(body=b"no list"),
        Reply(body=b'{"metadata": {}, "items": []}'),
    ],
)
def test_nothing_is_told_before_every_list_is_read(reply: Reply) -> None:
    with Rig() as rig:
        rig.server.serve(NODE, node("n-0", 1))
        rig.server.serve(POD, pod("a", 1))
        rig.server.lists(POD, *[reply] * 4)

        assert keys(rig.start()) == ["n-0", "uid-a"]
        assert len(rig.server.requests(POD)) == 5


def test_people_are_told_once_that_a_resource_cannot_be_read_and_once_that_it_can() -> None:
    with Rig() as rig:
        rig.server.serve(POD)
        rig.server.lists(POD, *[status(403, "Forbidden", "pods is forbidden")] * 3)

        rig.start()
        rig.server.watch(POD).bookmark(5)
        while len(rig.log) < 2:
            rig.server.wait_for(POD, 1)

    (interrupted, fields), (goes_on, _) = rig.log
    assert (interrupted, goes_on) == ("watch interrupted", "watch goes on")
    assert fields["resource"] == "pods"
    assert "pods is forbidden" in str(fields["error"])


# --- resources that we may not see


FORBIDDEN = status(403, "Forbidden", "persistentvolumes is forbidden")


def test_what_only_some_pods_need_is_done_without_where_it_may_not_be_seen() -> None:
    with Rig(replace(FAST, withheld=(60.0, 60.0))) as rig:
        rig.server.serve(NODE, node("n-0", 1))
        rig.server.lists(PERSISTENT_VOLUME, *[FORBIDDEN] * 4)

        listed = rig.start()

    assert keys(listed) == ["n-0"]
    assert listed.unreadable == {Kind.PERSISTENT_VOLUME}
    ((message, fields),) = rig.log
    assert (message, fields["resource"]) == ("not allowed to read", "persistentvolumes")
    assert "persistentvolumes is forbidden" in str(fields["error"])


def test_all_is_told_anew_when_something_may_be_seen_at_last() -> None:
    with Rig() as rig:
        rig.server.serve(NODE, node("n-0", 1))
        rig.server.serve(PERSISTENT_VOLUME, volume("v-0", 2))
        rig.server.lists(PERSISTENT_VOLUME, *[FORBIDDEN] * 20)
        first = rig.start()

        second = rig.heard.next_full_list()

    assert (set(first.unreadable), keys(first)) == ({Kind.PERSISTENT_VOLUME}, ["n-0"])
    assert (set(second.unreadable), keys(second)) == (set(), ["v-0", "n-0"])
    assert [message for message, _ in rig.log][:1] == ["not allowed to read"]


def test_what_was_seen_before_stays_when_it_may_not_be_seen_any_more() -> None:
    with Rig(replace(FAST, resync=(0.2, 0.2))) as rig:
        rig.server.serve(PERSISTENT_VOLUME, volume("v-0", 2))
        first = rig.start()
        rig.server.lists(PERSISTENT_VOLUME, *[FORBIDDEN] * 1000)
        watch = rig.server.watch(PERSISTENT_VOLUME)
        watch.send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
        rig.server.wait_for(PERSISTENT_VOLUME, 2)

        second = rig.heard.next_full_list()

    assert keys(first) == keys(second) == ["v-0"]
    assert second.unreadable == frozenset()


# --- resources that are not there


def test_a_resource_that_appears_is_read_from_then_on() -> None:
    with Rig() as rig:
        rig.server.serve(NODE)
        rig.start()

        rig.server.serve(NODE_POOL, node_pool("default", 3))

        assert key_of(rig.heard.next(ObjectSeen).object) == "default"
        rig.server.watch(NODE_POOL).send("ADDED", node_pool("other", 4))
        assert key_of(rig.heard.next(ObjectSeen).object) == "other"


def test_what_is_of_a_resource_that_vanishes_is_gone() -> None:
    with Rig() as rig:
        rig.server.serve(NODE_POOL, node_pool("default", 3))
        rig.start()

        rig.server.remove(NODE_POOL)
        rig.server.watch(NODE_POOL).end()

        assert rig.heard.next(ObjectGone) == ObjectGone(kind=Kind.NODE_POOL, key="default")


def test_a_server_that_does_not_know_its_resources_for_a_moment_costs_nothing() -> None:
    with Rig() as rig:
        rig.server.serve(NODE_POOL, node_pool("default", 3))
        rig.start()

        rig.server.watches(NODE_POOL, Reply(404, b"404 page not found"))
        rig.server.watch(NODE_POOL).end()
        rig.server.watch(NODE_POOL).send("ADDED", node_pool("other", 4))

        assert key_of(rig.heard.next(ObjectSeen).object) == "other"


# --- objects that cannot be understood


def bad_pool(version: int, problem: object = -1) -> Tree:
    tree = node_pool("bad", version)
    tree["spec"]["weight"] = problem
    return tree


def test_one_bad_object_costs_none_of_the_others() -> None:
    with Rig() as rig:
        rig.server.serve(NODE_POOL, node_pool("a", 1), bad_pool(2), node_pool("c", 3))

        listed = rig.start()

    assert keys(listed) == ["a", "c"]
    [aside] = listed.set_aside
    assert (aside.kind, aside.key, aside.resource_version) == (Kind.NODE_POOL, "bad", 2)
    assert aside.about == ObjectRef("NodePool", "bad", uid="uid-pool-bad")
    assert aside.problem.startswith("spec.weight: ")


def test_a_bad_object_is_understood_again_when_it_is_mended() -> None:
    with Rig() as rig:
        rig.server.serve(NODE_POOL, node_pool("bad", 1))
        rig.start()
        watch = rig.server.watch(NODE_POOL)

        watch.send("MODIFIED", bad_pool(2))
        assert rig.heard.next(ObjectSetAside).resource_version == 2

        watch.send("MODIFIED", node_pool("bad", 3))
        assert rig.heard.next(ObjectSeen).object.resource_version == 3


def test_a_bad_object_that_stays_as_bad_is_told_of_once() -> None:
    with Rig() as rig:
        rig.server.serve(NODE_POOL)
        rig.start()
        watch = rig.server.watch(NODE_POOL)

        watch.send("ADDED", bad_pool(2, -1))
        assert rig.heard.next(ObjectSetAside).resource_version == 2

        watch.send("MODIFIED", bad_pool(3, -1))
        watch.send("MODIFIED", bad_pool(4, "heavy"))
        assert rig.heard.next(ObjectSetAside).resource_version == 4

        watch.send("DELETED", bad_pool(5, "heavy"))
        assert rig.heard.next(ObjectGone) == ObjectGone(kind=Kind.NODE_POOL, key="bad")


@pytest.mark.parametrize(
    ("resource", "tree", "key"),
    [
        (POD, {**pod("x", 2), "spec": {}}, "uid-x"),
        (NODE, {**node("x", 2), "status": {"capacity": {"cpu": "many"}}}, "x"),
        (PROVISIONER, {**provisioner("x", 2), "spec": []}, "x"),
    ],
)
def test_a_bad_object_goes_by_the_name_it_would_have(
    resource: object, tree: dict[str, object], key: str
) -> None:
    with Rig() as rig:
        rig.server.serve(resource, tree)  # type: ignore[arg-type]

        [aside] = rig.start().set_aside

    assert aside.key == key


# --- a Provisioner with a provider within


def test_a_provisioner_with_a_provider_within_stands_for_a_pool_and_a_node_class() -> None:
    with Rig() as rig:
        rig.server.serve(PROVISIONER, provisioner("default", 1, provider=True))

        assert keys(rig.start()) == ["default", "Provisioner/default"]
        rig.server.watch(PROVISIONER).send("MODIFIED", provisioner("default", 2, provider=False))

        assert rig.heard.next(ObjectGone) == ObjectGone(kind=Kind.NODE_CLASS, key="Provisioner/default")
        assert key_of(rig.heard.next(ObjectSeen).object) == "default"


def test_a_provisioner_that_goes_takes_its_node_class_along() -> None:
    with Rig() as rig:
        rig.server.serve(PROVISIONER, provisioner("default", 1, provider=True))
        rig.start()

        rig.server.watch(PROVISIONER).send("DELETED", provisioner("default", 2, provider=True))

        gone = {rig.heard.next(ObjectGone).kind, rig.heard.next(ObjectGone).kind}
        assert gone == {Kind.NODE_POOL, Kind.NODE_CLASS}


def test_the_node_class_of_a_provisioner_that_was_broken_stays_in_full_lists() -> None:
    with Rig(replace(FAST, resync=(0.05, 0.05))) as rig:
        rig.server.serve(PROVISIONER, provisioner("default", 1, provider=True))
        listed = rig.start()

        rig.server.watch(PROVISIONER).send("MODIFIED", provisioner("default", 2, provider=True, weight=-1))
        while not listed.set_aside:
            listed = rig.heard.next_full_list()

    assert keys(listed) == ["Provisioner/default"]
    assert [aside.key for aside in listed.set_aside] == ["default"]
