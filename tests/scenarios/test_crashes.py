from __future__ import annotations

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, pods_by_node, told
from treenail.adapters.embed.rehearsal import Rehearsal

GROWING = ("BatchClosed", "PlanCommitted", "NodeLaunched", "NodeRegistered", "PodBound")
SHRINKING = ("NodeEmptied", "DisruptNodes", "NodeCordoned", "NodeDrained")


def crashed_at(rehearsal: Rehearsal, event: str, *, later: float = 0.0, down: float = 5.0) -> None:
    """Kill the controller `later` seconds after an event, and start it again `down` seconds after that."""
    # At the very message, not at the next look.
    assert rehearsal.world.run_until(lambda: bool(told(rehearsal, event)), at_most=rehearsal.seconds + 300)
    rehearsal.run(later)
    rehearsal.crash()
    rehearsal.restart(after=down)


def begun(seed: int) -> Rehearsal:
    rehearsal = Rehearsal(seed=seed)
    rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
    return rehearsal


@pytest.mark.parametrize("later", [0.0, 0.05, 0.5, 1.5])
@pytest.mark.parametrize("event", GROWING)
def test_a_crash_on_the_way_to_a_node_buys_nothing_twice(event: str, later: float) -> None:
    with begun(seed=1) as rehearsal:
        crashed_at(rehearsal, event, later=later)

        rehearsal.run("10m")

        assert rehearsal.running() == 3
        assert len(rehearsal.history()) == 1
        assert list(pods_by_node(rehearsal).values()) == [3]
        assert len(rehearsal.claims()) == 1


@pytest.mark.parametrize("event", SHRINKING)
def test_a_crash_while_a_node_is_given_back_leaves_nothing_behind(event: str) -> None:
    with begun(seed=2) as rehearsal:
        rehearsal.run("3m")
        rehearsal.scale("web", 0)
        crashed_at(rehearsal, event)

        rehearsal.run("10m")

        assert (rehearsal.nodes(), rehearsal.claims(), rehearsal.ec2.live()) == ((), (), ())
        [node] = rehearsal.history()
        assert node.cause == "empty"


def test_a_controller_that_dies_every_minute_still_brings_every_pod_up() -> None:
    with begun(seed=3) as rehearsal:
        for replicas in (3, 10, 20, 8, 14):
            rehearsal.scale("web", replicas)
            rehearsal.run("30s")
            rehearsal.crash()
            rehearsal.restart(after=10)
            rehearsal.run("30s")

        rehearsal.run("5m")

        assert rehearsal.running() == 14
        assert len(rehearsal.ec2.live()) == len(rehearsal.nodes()) == len(rehearsal.claims())


def test_pods_that_came_while_the_controller_was_down_are_served_after_the_restart() -> None:
    with begun(seed=4) as rehearsal:
        rehearsal.run("3m")
        rehearsal.crash()
        rehearsal.scale("web", 30)
        rehearsal.run("2m")
        assert rehearsal.running() < 30

        rehearsal.restart()
        rehearsal.run("3m")

        assert rehearsal.running() == 30


def test_a_decisions_trace_goes_on_after_a_restart() -> None:
    with begun(seed=5) as rehearsal:
        crashed_at(rehearsal, "NodeLaunched", later=2.0)

        rehearsal.run("5m")

        expect_whole_traces(rehearsal)
        [(_, trace)] = rehearsal.decisions()
        names = [span.name for span in rehearsal.telemetry.spans_of(trace)]
        assert {"decide", "launch", "register", "initialize", "bind"} <= set(names)
