"""Lists that are read anew while the watch goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tests.adapters.kubernetes.objects import node, pod
from tests.adapters.kubernetes.rig import FAST, RelistOnce, Rig
from tests.adapters.kubernetes.scripted import GONE, OpenWatch, Reply, Tree, status
from treenail.adapters.kubernetes.resources import NODE, POD
from treenail.domain.cluster.cluster_facts import ObjectGone, ObjectSeen, key_of


def a_list(revision: int, *things: Tree, rest: str = "") -> bytes:
    meta = {"resourceVersion": str(revision), **({"continue": rest} if rest else {})}
    return json.dumps({"metadata": meta, "items": list(things)}).encode()


@dataclass
class Scene:
    """Pods are watched, and another list of them is asked for."""

    rig: Rig
    watch: OpenWatch
    answer: threading.Event

    def told(self) -> tuple[str, int]:
        """The next that is told: which object, and in which version, 0 where it is gone."""
        fact = self.rig.heard.facts.get(timeout=5)
        if isinstance(fact, ObjectGone):
            return fact.key, 0
        assert isinstance(fact, ObjectSeen)
        return key_of(fact.object), fact.object.resource_version


@contextmanager
def while_listing(known: list[Tree], listed: bytes, *then: Reply) -> Iterator[Scene]:
    """The pods of a list at revision 10 are `known`; another list will say what is `listed`."""
    with Rig(uniform=RelistOnce()) as rig:
        rig.server.serve(POD, revision=10)
        answer = threading.Event()
        first, second = Reply(body=a_list(10, *known)), Reply(body=listed, held=answer)
        rig.server.lists(POD, first, second, *then)
        rig.start()
        watch = rig.server.watch(POD)
        rig.server.wait_for(POD, 2)
        try:
            yield Scene(rig, watch, answer)
        finally:
            answer.set()


def test_changes_are_told_while_all_is_read_anew() -> None:
    with while_listing([pod("a", 3)], a_list(20, pod("a", 3))) as scene:
        scene.watch.send("MODIFIED", pod("a", 21, app="web"))

        assert scene.told() == ("uid-a", 21)
        assert not scene.answer.is_set()


def test_what_the_watch_missed_is_told_of_the_list() -> None:
    listed = a_list(20, pod("same", 1), pod("changed", 15, app="web"), pod("new", 16))
    with while_listing([pod("same", 1), pod("changed", 2), pod("gone", 3)], listed) as scene:
        scene.answer.set()

        assert [scene.told() for _ in range(3)] == [("uid-gone", 0), ("uid-changed", 15), ("uid-new", 16)]
        assert len(scene.rig.server.requests(POD, watch=True)) == 1


def test_what_is_deleted_meanwhile_does_not_come_back_by_the_list() -> None:
    with while_listing([pod("a", 3)], a_list(20, pod("a", 3), pod("b", 4))) as scene:
        scene.watch.send("DELETED", pod("a", 21))
        assert scene.told() == ("uid-a", 0)
        scene.answer.set()

        assert scene.told() == ("uid-b", 4)
        assert scene.rig.heard.quiet


def test_what_comes_and_goes_while_the_list_is_read_stays_gone() -> None:
    listed = a_list(20, pod("b", 15), pod("c", 4))
    with while_listing([], listed) as scene:
        scene.watch.send("ADDED", pod("b", 15))
        assert scene.told() == ("uid-b", 15)
        scene.watch.send("DELETED", pod("b", 22))
        assert scene.told() == ("uid-b", 0)
        scene.answer.set()

        assert scene.told() == ("uid-c", 4)
        assert scene.rig.heard.quiet


def test_what_is_made_or_changed_meanwhile_is_not_put_back_by_the_list() -> None:
    listed = a_list(20, pod("a", 15, app="old"), pod("b", 4))
    with while_listing([pod("a", 3)], listed) as scene:
        scene.watch.send("MODIFIED", pod("a", 21, app="new"))
        scene.watch.send("ADDED", pod("new", 22))
        assert [scene.told(), scene.told()] == [("uid-a", 21), ("uid-new", 22)]
        scene.answer.set()

        assert scene.told() == ("uid-b", 4)
        assert scene.rig.heard.quiet


def test_a_watch_that_lags_behind_the_list_brings_nothing_back() -> None:
    with while_listing([pod("a", 3)], a_list(20, pod("b", 4))) as scene:
        scene.answer.set()
        assert [scene.told(), scene.told()] == [("uid-a", 0), ("uid-b", 4)]

        scene.watch.send("MODIFIED", pod("a", 18, app="web"))
        scene.watch.send("ADDED", pod("c", 21))

        assert scene.told() == ("uid-c", 21)


def test_a_list_cut_short_takes_nothing_away_and_is_asked_for_again_later() -> None:
    first = a_list(20, pod("a", 3), rest="x")
    whole = Reply(body=a_list(30, pod("b", 4)))
    with while_listing([pod("a", 3), pod("b", 4)], first, GONE, whole) as scene:
        scene.answer.set()

        assert scene.told() == ("uid-a", 0)
        [(message, fields)] = scene.rig.log
        assert (message, fields["resource"]) == ("full list failed", "pods")
        assert len(scene.rig.server.requests(POD, watch=True)) == 1


def test_a_store_that_was_put_back_is_believed_though_it_says_less() -> None:
    put_back = a_list(7, pod("a", 2))
    with while_listing([pod("a", 3, app="web"), pod("b", 4)], put_back, Reply(body=put_back)) as scene:
        scene.answer.set()

        assert [scene.told(), scene.told()] == [("uid-b", 0), ("uid-a", 2)]
        assert scene.rig.server.watch(POD).query["resourceVersion"] == "7"


def test_no_two_resources_are_read_anew_at_a_time() -> None:
    with Rig(uniform=RelistOnce(2)) as rig:
        answer = threading.Event()
        for resource in (POD, NODE):
            rig.server.serve(resource, revision=10)
            rig.server.lists(resource, Reply(body=a_list(10)), Reply(body=a_list(10), held=answer))
        rig.start()
        rig.server.watch(POD).send("ADDED", pod("a", 11))
        rig.server.watch(NODE).send("ADDED", node("n-0", 12))
        assert {key_of(rig.heard.next(ObjectSeen).object) for _ in range(2)} == {"uid-a", "n-0"}

        first = [len(rig.server.requests(resource)) for resource in (POD, NODE)]
        answer.set()
        for resource in (POD, NODE):
            rig.server.wait_for(resource, 2)

    assert sorted(first) in ([1, 1], [1, 2])


def test_a_watch_goes_on_while_full_lists_fail_and_they_are_asked_for_ever_more_rarely() -> None:
    pauses: list[float] = []

    class Dice(RelistOnce):
        def __call__(self, low: float, high: float) -> float:
            if low * 2 != high:
                return super().__call__(low, high)
            pauses.append(high)
            return 0.0

    pace = replace(FAST, look_again=(40.0, 40.0), watch=(400.0, 500.0))
    with Rig(pace, uniform=Dice()) as rig:
        rig.server.serve(POD, revision=10)
        found = Reply(body=a_list(20, pod("a", 15)))
        rig.server.lists(POD, Reply(body=a_list(10)), *[status(500)] * 4, found)
        rig.start()

        assert key_of(rig.heard.next(ObjectSeen).object) == "uid-a"
        assert len(rig.server.requests(POD, watch=True)) == 1

    assert pauses == [40.0, 80.0, 160.0, 320.0]
