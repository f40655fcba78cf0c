"""What a test that fails, or asks for what cannot be, is told."""

from __future__ import annotations

import traceback
import unittest
from collections.abc import Iterator

import pytest

from tests.scenarios.manifests import deployment, need, node_class, node_pool, text
from treenail.testing import Rehearsal

TYPES = need("node.kubernetes.io/instance-type", "c5.large")


@pytest.fixture
def cluster() -> Iterator[Rehearsal]:
    pool = node_pool(capacity_types=("spot",))
    pool["spec"]["template"]["spec"]["requirements"].append(TYPES)
    with Rehearsal(seed=7) as rehearsal:
        rehearsal.apply(text(node_class(), pool, deployment("web", 2, cpu="1")))
        rehearsal.run_until(lambda: rehearsal.running() == 2)
        yield rehearsal


def test_spot_nodes_are_interrupted_one_after_the_other(cluster: Rehearsal) -> None:
    first, second = cluster.interrupt(), cluster.interrupt()

    assert {first, second} == {node.name for node in cluster.nodes()}
    with pytest.raises(ValueError, match=r"no spot node now that is not being interrupted already \(2 are\)"):
        cluster.interrupt()
    with pytest.raises(ValueError, match=f"^{first} is being interrupted already"):
        cluster.interrupt(first)


def test_a_node_that_there_is_not_is_refused_with_those_there_are(cluster: Rehearsal) -> None:
    names = ", ".join(sorted(node.name for node in cluster.nodes()))

    with pytest.raises(ValueError, match=f"there is no spot node nosuch: there are {names}$"):
        cluster.interrupt("nosuch")


def test_a_crash_while_a_start_is_planned_says_when_that_is(cluster: Rehearsal) -> None:
    cluster.crash()
    cluster.restart(after="20s")
    with pytest.raises(ValueError, match=f"down already: it starts at {cluster.seconds + 20:g} s"):
        cluster.crash()

    cluster.run("21s")
    cluster.crash()
    with pytest.raises(ValueError, match="down already: restart"):
        cluster.crash()


def test_a_restart_takes_the_place_of_one_that_is_still_to_come(cluster: Rehearsal) -> None:
    cluster.crash()
    cluster.restart(after=10)
    cluster.restart(after=5)
    cluster.run(6)
    assert cluster.process.alive

    cluster.crash()
    cluster.run(60)
    assert not cluster.process.alive
    cluster.restart(after=20)
    cluster.restart(after=40)
    cluster.run(30)
    assert not cluster.process.alive
    cluster.run(15)
    assert cluster.process.alive


def test_what_must_always_hold_is_looked_at_once_at_the_start() -> None:
    with Rehearsal() as cluster, pytest.raises(AssertionError, match="never does not always hold"):
        cluster.always(lambda: False, "never")


def fails() -> None:
    with Rehearsal(seed=7) as cluster:
        cluster.apply(text(deployment("web", 1)))
        for replicas in range(20):
            cluster.scale("web", replicas)
        assert cluster.running() == 1


def test_a_failure_bears_the_seed_and_the_end_of_the_story_without_the_plugin() -> None:
    with pytest.raises(AssertionError) as failed:
        fails()

    [note] = failed.value.__notes__
    lines = note.splitlines()
    assert lines[:2] == ["rehearsal with seed 7:", "  ... 5 earlier"]
    assert 'Scaled {"name":"web","replicas":19}' in lines[-2]
    assert lines[-1].startswith("  at 0 s: ")


def failing_with(error: BaseException) -> list[str]:
    with pytest.raises(type(error)) as failed, Rehearsal(seed=7):
        raise error
    return getattr(failed.value, "__notes__", [])


@pytest.mark.parametrize(
    "error",
    [
        pytest.fail.Exception("no"),
        BaseExceptionGroup("some", [KeyboardInterrupt()]),
        ExceptionGroup("some", [ValueError()]),
    ],
    ids=repr,
)
def test_all_that_fails_a_test_bears_the_story(error: BaseException) -> None:
    [note] = failing_with(error)

    assert note.startswith("rehearsal with seed 7:")


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        SystemExit(),
        GeneratorExit(),
        unittest.SkipTest("later"),
        pytest.skip.Exception("later"),
        pytest.xfail.Exception("known"),
    ],
    ids=repr,
)
def test_what_ends_a_test_without_failing_it_bears_no_story(error: BaseException) -> None:
    assert failing_with(error) == []


def test_a_story_that_cannot_be_told_does_not_hide_what_failed() -> None:
    class Untold(Rehearsal):
        def summary(self) -> str:
            raise RuntimeError("no summary")

    with pytest.raises(AssertionError, match="mine") as failed, Untold(seed=7):
        raise AssertionError("mine")

    [note] = failed.value.__notes__
    assert note == "rehearsal with seed 7: its story cannot be told: RuntimeError('no summary')"


def test_frames_that_only_pass_a_failure_on_are_hidden_from_pytest(cluster: Rehearsal) -> None:
    cluster.always(lambda: len(cluster.nodes()) < 3, "never 3")
    cluster.scale("web", 20)
    with pytest.raises(AssertionError, match="never 3") as failed:
        cluster.run("10m")

    frames = [frame for frame, _ in traceback.walk_tb(failed.value.__traceback__)]
    passing = [frame.f_code.co_qualname for frame in frames if "treenail" in frame.f_globals["__name__"]]
    shown = [f.f_code.co_qualname for f in frames[1:] if not f.f_locals.get("__tracebackhide__")]
    assert len(passing) >= 4
    assert shown == []
