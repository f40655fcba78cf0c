from __future__ import annotations

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.embed.pod_history import Availability, WorkloadName
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.rehearsal_summary import most_at_once, quantile, summarize
from treenail.adapters.embed.waiting import named

WEB = WorkloadName("Deployment", "default", "web")
BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}
"""
GATED = """
apiVersion: v1
kind: Pod
metadata: {name: gated}
spec:
  schedulingGates: [{name: example.com/later}]
  containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]
"""


def running(*more: str, replicas: int = 4) -> Rehearsal:
    rehearsal = Rehearsal(seed=3)
    rehearsal.apply(text(node_class(), node_pool(), deployment("web", replicas=replicas, cpu="250m")), *more)
    rehearsal.run("3m")
    assert rehearsal.running() == replicas
    return rehearsal


def test_what_has_yet_to_come_up_for_the_first_time_is_not_missing() -> None:
    rehearsal = running()

    low = rehearsal.pod_history.workloads[WEB]
    assert (low.ready, low.fewest, low.had_then) == (4, 4, 4)


def test_the_worst_moment_is_when_most_pods_were_missing() -> None:
    low = Availability(wanted=5)
    low.note(1, ready=5)
    low.note(2, ready=-1)
    low.note(3, ready=-2)
    low.note(4, ready=3)
    low.note(5, ready=-1)

    assert (low.fewest, low.had_then, low.fewest_at) == (2, 5, 3)


def test_pods_that_are_wanted_no_more_are_not_missing() -> None:
    low = Availability(wanted=5)
    low.note(1, ready=5)
    low.note(2, wanted=2)
    low.note(3, ready=-3)

    assert (low.fewest, low.had_then) == (5, 5)


def test_a_rehearsal_counts_how_long_pods_waited_and_how_many_were_there() -> None:
    rehearsal = running()

    assert [round(r.waited(rehearsal.seconds)) for r in rehearsal.pod_history.records.values()] == [
        pytest.approx(52, abs=20)
    ] * 4
    last = rehearsal.pod_history.counts[-1]
    assert (last.pending, last.running) == (0, 4)
    assert max(c.pending for c in rehearsal.pod_history.counts) == 4


def test_pods_that_were_never_started_wait_until_they_are_gone() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment("web", replicas=2)))
        rehearsal.run("5s")
        rehearsal.delete("Deployment", "web")
        rehearsal.run("1m")

    assert [round(r.waited(60)) for r in rehearsal.pod_history.records.values()] == [5, 5]
    assert rehearsal.pod_history.counts[-1].pending == 0


def test_pods_behind_gates_do_not_wait_for_a_node() -> None:
    rehearsal = running(GATED)

    summary = summarize(rehearsal)

    assert [(w.key, w.reason) for w in summary.waiting] == [
        ("default/gated", "its scheduling gates hold it: example.com/later")
    ]
    assert summary.p99_wait is not None
    assert summary.p99_wait < 90


def test_an_interruption_shows_as_missing_pods_beside_what_the_budget_wants() -> None:
    rehearsal = running(BUDGET)
    rehearsal.terminate_outside()
    rehearsal.run("6m")

    [low] = summarize(rehearsal).workloads

    assert (low.workload, low.had, low.budget, low.needs) == (WEB, 4, "default/web", 3)
    assert low.fewest == 0
    assert low.too_few
    assert 180 < low.at < 400


def test_a_budget_counts_after_the_pods_it_was_about_are_gone() -> None:
    rehearsal = running(BUDGET)
    rehearsal.terminate_outside()
    rehearsal.run("6m")
    rehearsal.scale("web", 1)
    rehearsal.run("1m")

    [low] = summarize(rehearsal).workloads

    assert (low.budget, low.needs, low.fewest) == ("default/web", 3, 0)


def test_a_drain_that_a_budget_holds_is_named_with_the_budget() -> None:
    rehearsal = running(BUDGET.replace("minAvailable: 3", "maxUnavailable: 0"))
    [claim] = rehearsal.claims()
    rehearsal.delete("NodeClaim", claim.name)
    rehearsal.run("5m")

    summary = summarize(rehearsal)

    [blocked] = summary.blocked
    assert blocked.node == claim.node_name
    assert "default/web" in blocked.reason
    assert summary.evictions == 0


def test_pods_that_fit_nowhere_are_grouped_by_their_reason() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment("web", replicas=3, cpu="900")))
        rehearsal.run("1m")

    [group] = summarize(rehearsal).waiting_groups()

    assert group.pods.endswith("and 2 more")
    assert "cpu 900 is asked for" in group.reason


def test_money_and_nodes_add_up() -> None:
    rehearsal = running()

    summary = summarize(rehearsal)

    [node] = rehearsal.history()
    assert summary.rate == node.price
    assert summary.monthly == pytest.approx(node.price * 730)
    assert summary.cost == pytest.approx(rehearsal.cost())
    assert (summary.nodes, summary.nodes_most, summary.nodes_ever) == (1, 1, 1)
    assert most_at_once(()) == 0


def test_quantiles_are_values_that_occurred() -> None:
    assert quantile([], 0.5) is None
    assert quantile([7.0], 0.99) == 7.0
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert quantile([float(n) for n in range(1, 201)], 0.99) == 198.0


def test_several_pods_are_named_by_the_first() -> None:
    assert named(["a/b"]) == "a/b"
    assert named(["a/b", "a/c"]) == "a/b and 1 more"
