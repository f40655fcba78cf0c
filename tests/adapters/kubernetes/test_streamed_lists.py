"""Lists that a server gives in a stream, and servers that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.kubernetes.objects import pod
from tests.adapters.kubernetes.rig import FAST, RelistOnce, Rig, keys
from tests.adapters.kubernetes.scripted import OpenWatch
from treenail.adapters.kubernetes.resources import POD
from treenail.domain.cluster.cluster_facts import ObjectGone, ObjectSeen, Resynced, key_of


def ends(stream: OpenWatch, revision: int) -> None:
    """Say that there was all."""
    annotations = {"k8s.io/initial-events-end": "true"}
    stream.send("BOOKMARK", {"metadata": {"resourceVersion": str(revision), "annotations": annotations}})


def a_rig(**options: object) -> Rig:
    rig = Rig(**options)  # type: ignore[arg-type]
    rig.server.serve(POD, revision=5)
    rig.server.streams = True
    return rig


def test_a_list_is_asked_for_in_a_stream_and_the_watch_begins_where_it_ends() -> None:
    with a_rig() as rig:
        rig.reader.feed(rig.heard)
        stream = rig.server.streamed(POD)
        stream.send("ADDED", pod("a", 3))
        stream.send("ADDED", pod("b", 2))
        ends(stream, 9)

        assert keys(rig.heard.next(Resynced)) == ["uid-a", "uid-b"]
        assert rig.server.watch(POD).query["resourceVersion"] == "9"

    assert {name: stream.query.get(name) for name in ("sendInitialEvents", "allowWatchBookmarks")} == {
        "sendInitialEvents": "true",
        "allowWatchBookmarks": "true",
    }
    assert stream.query["resourceVersionMatch"] == "NotOlderThan"
    assert "resourceVersion" not in stream.query
    assert stream.query["timeoutSeconds"] == "600"
    assert rig.server.requests(POD) == []


def test_all_is_read_anew_in_a_stream_while_the_watch_goes_on() -> None:
    with a_rig(uniform=RelistOnce()) as rig:
        rig.reader.feed(rig.heard)
        first = rig.server.streamed(POD)
        first.send("ADDED", pod("a", 3))
        first.send("ADDED", pod("gone", 2))
        ends(first, 9)
        rig.heard.next(Resynced)
        second = rig.server.streamed(POD)
        second.send("ADDED", pod("a", 3))

        watch = rig.server.watch(POD)
        watch.send("ADDED", pod("b", 12))
        assert key_of(rig.heard.next(ObjectSeen).object) == "uid-b"
        ends(second, 11)

        assert rig.heard.next(ObjectGone).key == "uid-gone"
        assert rig.heard.quiet


@pytest.mark.parametrize(
    "kind",
    [
        "BOOKMARK",  # one without the annotation: a watch, and what it told first is not known to be all
        "MODIFIED",
        "DELETED",
    ],
)
def test_a_server_that_takes_a_streamed_list_for_a_watch_is_asked_for_pages(kind: str) -> None:
    with a_rig() as rig:
        rig.server.objects[POD.path()] = [pod("a", 3), pod("b", 4)]
        rig.reader.feed(rig.heard)
        stream = rig.server.streamed(POD)
        stream.send("ADDED", pod("a", 3))
        stream.send(kind, pod("a", 4))

        assert keys(rig.heard.next(Resynced)) == ["uid-a", "uid-b"]
        assert len(rig.server.requests(POD)) == 1


@pytest.mark.parametrize("cut", [True, False])
def test_a_streamed_list_that_breaks_off_takes_nothing_away_and_pages_are_asked_for(cut: bool) -> None:  # noqa: FBT001
    with a_rig() as rig:
        rig.server.objects[POD.path()] = [pod("a", 3), pod("b", 4)]
        rig.reader.feed(rig.heard)
        stream = rig.server.streamed(POD)
        stream.send("ADDED", pod("a", 3))
        stream.cut() if cut else stream.end()

        assert keys(rig.heard.next(Resynced)) == ["uid-a", "uid-b"]


def test_a_server_that_says_nothing_in_a_stream_is_asked_for_pages() -> None:
    with a_rig(pace=replace(FAST, list_idle=0.2)) as rig:
        rig.server.objects[POD.path()] = [pod("a", 3)]
        rig.reader.feed(rig.heard)

        assert keys(rig.heard.next(Resynced)) == ["uid-a"]


def test_a_server_that_refuses_streamed_lists_is_not_asked_for_one_again_and_again() -> None:
    with Rig(FAST, uniform=RelistOnce()) as rig:
        rig.server.serve(POD, revision=5)
        rig.start()
        rig.server.wait_for(POD, 2)
        watch = rig.server.watch(POD)
        watch.send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
        rig.server.wait_for(POD, 3)

    # One on the thread of the watch, one beside it.
    assert len([a for a in rig.server.asked if a.path == POD.path() and a.streamed]) == 2


def test_a_list_asked_for_in_a_stream_does_not_hold_up_the_end() -> None:
    with a_rig() as rig:
        rig.reader.feed(rig.heard)
        rig.server.streamed(POD)

        rig.reader.stop()

        assert rig.heard.quiet
