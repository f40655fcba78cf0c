from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.simulation.judge import Judge
from tests.simulation.ordeal import TROUBLES, Ordeal
from treenail.adapters.embed.rehearsal import Rehearsal


@pytest.mark.seeds(quick=1, soak=25)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_with_aws_doubles_nothing_leaks_nothing_and_is_over_a_minute_after_it_ends(
    trouble: str, seed: int, record_property: Callable[[str, object], None]
) -> None:
    ordeal = Ordeal(trouble, seed)

    ordeal.run()

    record_property("seconds to recover", round(ordeal.recovery, 2))


def test_the_judge_sees_an_instance_end_whose_claim_lives() -> None:
    with Rehearsal(seed=1) as rehearsal:
        Judge(rehearsal)
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
        rehearsal.run("3m")
        (claim,) = rehearsal.claims()

        with pytest.raises(AssertionError, match=f"{claim.name} lives"):
            rehearsal.ec2.terminate((claim.provider_id.rpartition("/")[2],))


def test_the_judge_sees_a_pod_that_nobody_serves() -> None:
    with Rehearsal(seed=1) as rehearsal:
        judge = Judge(rehearsal)
        rehearsal.apply(text(node_class(), node_pool(limits={"cpu": "0"}), deployment(replicas=3)))
        rehearsal.run("1m")

        with pytest.raises(AssertionError, match="3 pods"):
            judge.recovered(within=30)
        with pytest.raises(AssertionError, match="not bound"):
            judge.settled()


def test_the_judge_sees_an_instance_that_is_nobodys() -> None:
    with Rehearsal(seed=1) as rehearsal:
        judge = Judge(rehearsal)
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3)))
        rehearsal.run("3m")
        judge.settled()
        (record,) = rehearsal.ec2.all_instances()
        request = replace(record.request, token="stray", count=1)  # noqa: S106 (no secret)

        rehearsal.ec2.outside.launch(request)

        with pytest.raises(AssertionError, match="differ"):
            judge.settled()
        rehearsal.run("5m")
        judge.settled()
