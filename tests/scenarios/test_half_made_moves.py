"""The controller dies between the purchase of a replacement and the end of what it replaces.

Empty nodes go after a second here, as a replacement seems to be until pods have come to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import pytest

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from tests.scenarios.test_consolidation import rehearsed
from tests.scenarios.test_drift import ONE_POD_EACH
from tests.scenarios.test_expiry import OLD_CLASS, PROVISIONER
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.taints import DISRUPTED

_LIFE: Final = 600


def pool(generation: str = "one", *, at_once: str = "100%", policy: str = "WhenEmpty") -> Manifest:
    made = node_pool(capacity_types=("on-demand",), labels={"generation": generation}, consolidate_after="1s")
    made["spec"]["disruption"] |= {"budgets": [{"nodes": at_once}], "consolidationPolicy": policy}
    return made


def two_nodes(rehearsal: Rehearsal, *manifests: Manifest) -> None:
    rehearsal.apply(text(*manifests, deployment(replicas=2, node_selector=ONE_POD_EACH)))
    rehearsal.run_until(lambda: rehearsal.running() == 2, within="5m")
    rehearsal.run(10)


def drift(rehearsal: Rehearsal) -> None:
    two_nodes(rehearsal, node_class(), pool())
    rehearsal.apply(text(pool("two")))


def expire(rehearsal: Rehearsal) -> None:
    life = {"ttlSecondsUntilExpired": _LIFE, "ttlSecondsAfterEmpty": 1}
    two_nodes(rehearsal, OLD_CLASS, {**PROVISIONER, "spec": {"providerRef": {"name": "default"}, **life}})
    rehearsal.run(_LIFE - rehearsal.seconds)


def consolidate(rehearsal: Rehearsal) -> None:
    """Have one small pod on a node that was bought for a large one too."""
    pods = deployment("many", 1, cpu="12"), deployment("few", 1, cpu="900m")
    rehearsal.apply(text(node_class(), pool(policy="WhenEmptyOrUnderutilized"), *pods))
    rehearsal.run_until(lambda: rehearsal.running() == 2, within="10m")
    rehearsal.scale("many", 0)


def moved(begin: Callable[[Rehearsal], None], *, dies_after: float | None = None) -> Counter[str | None]:
    """Have nodes replaced, the controller killed meanwhile; return why each that there ever was has ended."""
    with rehearsed(seed=1) as rehearsal:
        begin(rehearsal)
        if dies_after is not None:
            rehearsal.run(dies_after)
            rehearsal.crash()
            rehearsal.restart(after=1)
        rehearsal.run("8m")

        assert len(rehearsal.claims()) == len(rehearsal.nodes())
        assert rehearsal.running() == len(rehearsal.pods())
        assert not any(DISRUPTED in node.taints or node.unschedulable for node in rehearsal.nodes())
        return Counter(record.cause for record in rehearsal.history())


@pytest.mark.seeds(quick=4, soak=90)
def test_replacements_of_drifted_nodes_are_bought_once_whenever_the_controller_dies(seed: int) -> None:
    # The first of these is just before the second one has joined.
    assert moved(drift, dies_after=(29.3 + seed) % 90) == {"drifted": 2, None: 2}


@pytest.mark.seeds(quick=2, soak=90)
def test_so_are_those_of_expired_nodes_of_the_old_api(seed: int) -> None:
    assert moved(expire, dies_after=(17.5 + 15 * seed) % 90) == {"expired": 2, None: 2}


@pytest.mark.seeds(quick=4, soak=90)
def test_so_are_those_of_nodes_that_cost_too_much(seed: int) -> None:
    assert moved(consolidate, dies_after=(7.5 + 13 * seed) % 90) == {"underutilized": 1, None: 1}


def half_drifted(rehearsal: Rehearsal) -> None:
    """Kill the controller while the replacements of two drifted nodes boot."""
    drift(rehearsal)
    rehearsal.run(20)
    assert len(rehearsal.ec2.live()) == 4
    rehearsal.crash()


def ended(rehearsal: Rehearsal) -> list[str]:
    return sorted(record.cause for record in rehearsal.history() if record.cause is not None)


def test_a_drift_that_was_undone_meanwhile_is_taken_back_and_its_replacements_are_given_back() -> None:
    with Rehearsal(seed=1) as rehearsal:
        half_drifted(rehearsal)
        rehearsal.apply(text(pool()))
        rehearsal.restart()
        rehearsal.run("10m")

        assert not any(DISRUPTED in node.taints for node in rehearsal.nodes())
        assert ended(rehearsal) == ["empty", "empty"]


def test_a_drift_that_the_budget_forbids_by_now_is_taken_back() -> None:
    with Rehearsal(seed=1) as rehearsal:
        half_drifted(rehearsal)
        rehearsal.apply(text(pool("two", at_once="0")))
        rehearsal.restart()
        rehearsal.run("10m")

        assert not any(DISRUPTED in node.taints for node in rehearsal.nodes())
        assert "drifted" not in ended(rehearsal)


def test_replacements_that_never_come_up_keep_their_nodes_and_are_not_waited_for_for_good() -> None:
    with Rehearsal(seed=1) as rehearsal:
        half_drifted(rehearsal)
        for machine in rehearsal.ec2.live()[2:]:
            rehearsal.ec2.outside.terminate(machine.instance.id)
        rehearsal.restart()
        rehearsal.run("15m")

        assert rehearsal.running() == 2
        assert ended(rehearsal).count("drifted") == 2
        assert not any(DISRUPTED in node.taints for node in rehearsal.nodes())


def test_that_a_replacement_is_resumed_is_logged_with_its_nodes_and_their_cause() -> None:
    with Rehearsal(seed=1) as rehearsal:
        half_drifted(rehearsal)
        rehearsal.restart()
        rehearsal.run(5)

        (line,) = (one for one in rehearsal.telemetry.logs if one.message == "resuming replacement of nodes")
        assert line.fields["cause"] == "drifted"
        assert len(told(rehearsal, "DisruptNodes")) == 2
