from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.domain.packing.problems import asking, instance_type, offer, pods, problem
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.resources import Resources
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import PoolOffer
from treenail.domain.packing.refusal_reasons import Reason


def refusal(spec: PodSpec, of: PoolOffer) -> tuple[Reason, str]:
    (refused,) = pack(problem(pods("web", 1, spec), offers=(of,))).refused
    (only,) = refused.refusals
    return only.reason, only.detail


def short(name: str, cpu: int, missing: Mapping[str, int]) -> InstanceType:
    """A type of which nodes turned out to have less."""
    one = instance_type(name, cpu=cpu, memory=2 * cpu, price=0.05 * cpu)
    return replace(one, overhead=replace(one.overhead, missing=Resources(missing)))


def test_what_nodes_turned_out_not_to_have_is_told_where_it_would_have_been_enough() -> None:
    types = (short("c5.large", 2, {"cpu": 500}), short("c5.xlarge", 4, {"cpu": 2500}))

    reason, detail = refusal(asking("1600m"), offer(types=types))

    assert reason is Reason.TOO_LARGE
    assert detail == (
        "cpu 1600m is asked for, and the largest type leaves 1420m to pods (c5.large); "
        "nodes of its node class report 500m cpu less than c5.large should have"
    )
    assert refusal(asking("3"), offer(types=types))[1].endswith("2500m cpu less than c5.xlarge should have")
    assert refusal(asking("8"), offer(types=types))[1].endswith("leaves 1420m to pods (c5.large)")


def test_it_is_told_too_where_several_resources_are_asked_for_at_once() -> None:
    types = (short("c5.large", 2, {"cpu": 500}), instance_type("t9.nano", cpu=3, memory=1, price=0.01))

    assert refusal(asking("1800m", "2Gi"), offer(types=types))[1].endswith(
        "leaves 1420m of cpu to pods (c5.large); "
        "nodes of its node class report 500m cpu less than c5.large should have"
    )
