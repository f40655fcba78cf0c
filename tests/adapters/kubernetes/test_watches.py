from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from tests.adapters.kubernetes.objects import node, node_claim, node_pool, pod, provisioner
from tests.adapters.kubernetes.rig import FAST, SOON, Rig, keys
from tests.adapters.kubernetes.scripted import DROP, GONE, Reply, status
from treenail.adapters.kubernetes.resources import NODE, NODE_CLAIM, NODE_POOL, POD, PROVISIONER
from treenail.domain.cluster.cluster_facts import Kind, ObjectGone, ObjectSeen, key_of, kind_of
from treenail.domain.model.node_pools import Generation, NodePool


def test_changes_are_told_as_they_come() -> None:
    with Rig() as rig:
        rig.server.serve(POD, revision=5)
        rig.start()
        watch = rig.server.watch(POD)

        watch.send("ADDED", pod("a", 6))
        seen = rig.heard.next(ObjectSeen)
        watch.send("MODIFIED", pod("a", 7, app="web"))
        changed = rig.heard.next(ObjectSeen)
        watch.send("DELETED", pod("a", 8))

        assert (kind_of(seen.object), seen.object.resource_version) == (Kind.POD, 6)
        assert changed.object.resource_version == 7
        assert rig.heard.next(ObjectGone) == ObjectGone(kind=Kind.POD, key="uid-a")


def test_a_watch_begins_where_the_list_ended_and_asks_for_bookmarks() -> None:
    with Rig() as rig:
        rig.server.serve(POD, revision=5)
        rig.start()

        query = rig.server.watch(POD).query

    assert query["resourceVersion"] == "5"
    assert query["allowWatchBookmarks"] == "true"
    assert 300 <= int(query["timeoutSeconds"]) <= 600


def test_a_watch_that_ends_goes_on_after_what_it_told_last() -> None:
    with Rig() as rig:
        rig.server.serve(POD, revision=5)
        rig.start()

        first = rig.server.watch(POD)
        first.send("ADDED", pod("a", 6))
        first.end()
        second = rig.server.watch(POD)
        second.bookmark(90)
        second.end()
        third = rig.server.watch(POD)
        third.send("DELETED", pod("a", 95))
        third.end()
        fourth = rig.server.watch(POD)

    assert [w.query["resourceVersion"] for w in (second, third, fourth)] == ["6", "90", "95"]
    assert len(rig.server.requests(POD)) == 1


def test_a_watch_cut_in_the_middle_of_a_line_goes_on_after_the_last_whole_one() -> None:
    with Rig() as rig:
        rig.server.serve(POD, revision=5)
        rig.start()
        event = json.dumps({"type": "ADDED", "object": pod("b", 7)}).encode()

        watch = rig.server.watch(POD)
        watch.send("ADDED", pod("a", 6))
        watch.raw(event[:40])
        watch.cut()
        again = rig.server.watch(POD)
        again.raw(event + b"\n")

        assert again.query["resourceVersion"] == "6"
        assert [key_of(rig.heard.next(ObjectSeen).object) for _ in range(2)] == ["uid-a", "uid-b"]


def test_lines_may_come_in_pieces_and_several_at_once() -> None:
    lines = b"".join(
        json.dumps({"type": "ADDED", "object": pod(name, n)}).encode() + b"\n"
        for n, name in enumerate("abc", start=6)
    )
    with Rig() as rig:
        rig.server.serve(POD, revision=5)
        rig.start()
        watch = rig.server.watch(POD)

        watch.raw(lines[:100])
        watch.raw(lines[100:-50])
        watch.raw(lines[-50:])

        assert [key_of(rig.heard.next(ObjectSeen).object) for _ in range(3)] == ["uid-a", "uid-b", "uid-c"]


@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b'{"type": "ADDED"}\n',
        b'{"type": "TOLD", "object": {}}\n',
        b'{"type": "BOOKMARK", "object": {}}\n',
    ],
)
def test_a_line_that_is_no_event_has_the_watch_opened_again(line: bytes) -> None:
    with Rig() as rig:
        rig.server.serve(POD, revision=5)
        rig.start()

        rig.server.watch(POD).raw(line)

        assert rig.server.watch(POD).query["resourceVersion"] == "5"


@pytest.mark.parametrize(
    "reply",
    [DROP, status(500, "InternalError"), status(503, "", headers={"Retry-After": "0"}), Reply(502, b"")],
)
def test_a_server_in_trouble_is_asked_again_for_what_is_missing(reply: Reply) -> None:
    with Rig() as rig:
        rig.server.serve(POD, revision=5)
        rig.server.watches(POD, *[reply] * 5)
        rig.start()

        rig.server.watch(POD).send("ADDED", pod("a", 6))

        assert rig.heard.next(ObjectSeen).object.resource_version == 6
        assert len(rig.server.requests(POD)) == 1
        assert len(rig.server.requests(POD, watch=True)) == 6


def test_a_silent_watch_is_taken_to_be_dead() -> None:
    with Rig(replace(FAST, idle=0.05)) as rig:
        rig.server.serve(POD, revision=5)
        rig.start()

        rig.server.watch(POD)

        assert rig.server.watch(POD).query["resourceVersion"] == "5"


# --- revisions the server has no more


@pytest.mark.parametrize("within", [True, False])
def test_after_an_expired_revision_only_the_differences_are_told(within: bool) -> None:  # noqa: FBT001
    with Rig() as rig:
        rig.server.serve(POD, pod("same", 1), pod("changed", 2), pod("gone", 3), revision=5)
        rig.server.serve(NODE, node("n-0", 4), revision=5)
        rig.start()
        watch = rig.server.watch(POD)
        rig.server.serve(POD, pod("same", 1), pod("changed", 92, app="x"), pod("new", 93), revision=99)

        if within:
            watch.send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
        else:
            rig.server.watches(POD, GONE)
            watch.end()

        assert rig.heard.next(ObjectGone).key == "uid-gone"
        told = [rig.heard.next(ObjectSeen).object.resource_version for _ in range(2)]
        assert told == [92, 93]
        assert rig.server.watch(POD).query["resourceVersion"] == "99"
        assert rig.heard.quiet
        assert len(rig.server.requests(NODE)) == 1


def test_an_object_made_anew_under_its_name_is_another_one() -> None:
    with Rig() as rig:
        rig.server.serve(NODE_CLAIM, node_claim("c-0", 4), revision=5)
        rig.start()
        again = node_claim("c-0", 92)
        again["metadata"]["uid"] = "another"
        rig.server.serve(NODE_CLAIM, again, revision=99)

        rig.server.watches(NODE_CLAIM, GONE)
        rig.server.watch(NODE_CLAIM).end()

        assert rig.heard.next(ObjectGone) == ObjectGone(kind=Kind.NODE_CLAIM, key="c-0")
        assert rig.heard.next(ObjectSeen).object.resource_version == 92


def test_a_resource_is_read_anew_now_and_then_though_its_watch_goes_well() -> None:
    with Rig(replace(FAST, relist=(0.0, 0.0))) as rig:
        rig.server.serve(POD, pod("a", 1), revision=5)
        rig.start()
        rig.server.serve(POD, revision=9)

        rig.server.watch(POD).end()

        assert rig.heard.next(ObjectGone).key == "uid-a"


# --- what is worth telling


def test_of_pods_only_what_somebody_looks_at_is_told() -> None:
    with Rig() as rig:
        rig.server.serve(POD, pod("a", 1), revision=5)
        rig.start()
        watch = rig.server.watch(POD)

        watch.send("MODIFIED", {**pod("a", 6), "status": {"podIP": "10.0.0.1"}})
        watch.send("MODIFIED", pod("a", 7, app="web"))

        assert rig.heard.next(ObjectSeen).object.resource_version == 7


def test_of_nodes_and_claims_every_version_is_told_for_writes_name_it() -> None:
    with Rig() as rig:
        rig.server.serve(NODE, node("n-0", 1), revision=5)
        rig.start()

        rig.server.watch(NODE).send("MODIFIED", node("n-0", 6))

        assert rig.heard.next(ObjectSeen).object.resource_version == 6


def test_what_was_told_already_is_not_told_again() -> None:
    with Rig() as rig:
        rig.server.serve(NODE, node("n-0", 3), revision=5)
        rig.start()
        watch = rig.server.watch(NODE)

        watch.send("MODIFIED", node("n-0", 3, app="x"))
        watch.send("MODIFIED", node("n-0", 6))

        assert rig.heard.next(ObjectSeen).object.resource_version == 6


def test_a_provisioner_that_a_node_pool_hid_is_told_when_that_goes() -> None:
    with Rig() as rig:
        rig.server.serve(NODE_POOL, node_pool("default", 3), revision=5)
        rig.server.serve(PROVISIONER, provisioner("default", 4, weight=7), revision=5)
        rig.start()

        rig.server.watch(NODE_POOL).send("DELETED", node_pool("default", 6))

        assert [rig.heard.next(ObjectGone).key for _ in range(2)] == ["default", "Provisioner/default"]
        left = rig.heard.next(ObjectSeen).object
        assert isinstance(left, NodePool)
        assert (left.generation, left.weight) == (Generation.V1ALPHA5, 7)


# --- full lists now and then


def test_full_lists_come_now_and_then_and_hold_what_the_watches_told() -> None:
    with Rig(replace(FAST, resync=(0.1, 0.1))) as rig:
        rig.server.serve(POD, pod("a", 1), revision=5)
        rig.server.serve(NODE, node("n-0", 1), revision=5)
        rig.start()

        rig.server.watch(POD).send("DELETED", pod("a", 6))
        rig.server.watch(NODE).bookmark(9)
        listed = rig.heard.next_full_list()
        while listed.revision < 6:
            listed = rig.heard.next_full_list()

    assert keys(listed) == ["n-0"]
    assert listed.revision == 6


# --- a listener that cannot follow


class Crowd:
    """Says whether the listener has enough to do, and waits until it was asked."""

    def __init__(self) -> None:
        self.there = threading.Event()
        self.asked = threading.Event()

    def __call__(self) -> bool:
        self.asked.set()
        return self.there.is_set()


def test_while_the_listener_is_congested_changes_are_kept_one_an_object() -> None:
    crowd = Crowd()
    with Rig(congested=crowd) as rig:
        rig.server.serve(POD, pod("gone", 1), revision=5)
        rig.start()
        crowd.there.set()
        watch = rig.server.watch(POD)

        for version in range(6, 60, 3):
            watch.send("MODIFIED", pod("b", version, n=str(version)))
            watch.send("MODIFIED", pod("a", version + 1, n=str(version)))
            watch.send("ADDED", pod("passing", version + 2, uid=f"p-{version}"))
            watch.send("DELETED", pod("passing", version + 2, uid=f"p-{version}"))
        watch.send("DELETED", pod("gone", 70))
        watch.end()
        rig.server.watch(POD)
        crowd.asked.clear()
        assert crowd.asked.wait(SOON)
        assert rig.heard.quiet
        crowd.there.clear()

        told = [key_of(rig.heard.next(ObjectSeen).object) for _ in range(2)]
        assert told == ["uid-b", "uid-a"]
        assert rig.heard.next(ObjectGone).key == "uid-gone"
        assert rig.heard.quiet
