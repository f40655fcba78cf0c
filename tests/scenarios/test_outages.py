from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import pods_by_node, told
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterFaults
from treenail.adapters.fake.ec2 import EC2Faults


def begun(seed: int, conditions: Conditions | None = None) -> Rehearsal:
    rehearsal = Rehearsal(seed=seed, conditions=conditions)
    rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
    return rehearsal


def after(rehearsal: Rehearsal, event: str) -> Callable[[], bool]:
    return lambda: bool(told(rehearsal, event))


@pytest.mark.parametrize("event", ["PodBecamePending", "PlanCommitted", "NodeLaunched", "NodeRegistered"])
def test_an_api_server_that_is_away_for_a_minute_delays_and_nothing_more(event: str) -> None:
    with begun(seed=1) as rehearsal:
        rehearsal.run_until(after(rehearsal, event))
        rehearsal.api_server_away(60)

        rehearsal.run("6m")

        assert rehearsal.running() == 3
        assert list(pods_by_node(rehearsal).values()) == [3]
        assert len(rehearsal.ec2.live()) == len(rehearsal.claims()) == 1


def test_an_api_server_that_is_away_during_a_drain_delays_the_end_of_the_node() -> None:
    with begun(seed=2) as rehearsal:
        rehearsal.run("3m")
        rehearsal.scale("web", 0)
        rehearsal.run_until(after(rehearsal, "DisruptNodes"))
        rehearsal.api_server_away(60)

        rehearsal.run("6m")

        assert (rehearsal.nodes(), rehearsal.claims(), rehearsal.ec2.live()) == ((), (), ())


def test_a_spot_interruption_while_the_api_server_is_away_is_survived() -> None:
    with begun(seed=3) as rehearsal:
        rehearsal.run("3m")
        old = rehearsal.interrupt()
        rehearsal.api_server_away(60)

        rehearsal.run("8m")

        assert rehearsal.running() == 3
        assert old not in pods_by_node(rehearsal)
        assert len(rehearsal.ec2.live()) == len(rehearsal.claims()) == 1


@pytest.mark.parametrize("seconds", [200, 900])
def test_a_machine_found_unwell_while_a_new_process_knows_no_nodes_yet_is_replaced_however_long_that_is(
    seconds: int,
) -> None:
    with begun(seed=4) as rehearsal:
        rehearsal.run("3m")
        rehearsal.crash()
        old = rehearsal.impair()
        rehearsal.api_server_away(seconds)
        rehearsal.restart(after=5)

        rehearsal.run(f"{seconds}s")
        assert old in pods_by_node(rehearsal)
        rehearsal.run("10m")

        assert rehearsal.running() == 3
        assert old not in pods_by_node(rehearsal)


def test_lost_answers_of_ec2_buy_nothing_twice() -> None:
    for seed in range(1, 6):
        with begun(seed, Conditions(ec2_faults=EC2Faults(answer_lost=0.5, unavailable=0.2))) as rehearsal:
            rehearsal.run("10m")

            assert rehearsal.running() == 3
            assert len(rehearsal.ec2.live()) == 1


def test_an_instance_that_never_joins_is_given_back_after_15_minutes_and_replaced() -> None:
    with begun(4, Conditions(ec2_faults=EC2Faults(never_joins=1.0))) as rehearsal:
        rehearsal.run("14m")
        assert [record.terminated_at for record in rehearsal.history()] == [None]
        rehearsal.ec2.faults = EC2Faults()

        rehearsal.run("10m")

        [never] = told(rehearsal, "NodeNeverCame")
        assert never.at == pytest.approx(15 * 60, abs=10)
        first, second = rehearsal.history()
        assert first.cause == "registration_timeout"
        assert first.terminated_at == pytest.approx(never.at, abs=30)
        assert second.terminated_at is None
        assert rehearsal.running() == 3


def test_conflicts_and_dropped_watches_are_worked_around() -> None:
    faults = ClusterFaults(conflict=0.3, answer_lost=0.1, watch_duplicate=0.3, watch_drop=0.02)
    with begun(5, Conditions(cluster_faults=faults)) as rehearsal:
        rehearsal.run("10m")
        assert rehearsal.running() == 3

        rehearsal.scale("web", 0)
        rehearsal.run("10m")

        assert (rehearsal.nodes(), rehearsal.claims(), rehearsal.ec2.live()) == ((), (), ())
