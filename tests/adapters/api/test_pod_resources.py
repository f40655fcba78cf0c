from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.api.builders import a_pod, pod_tree, problem_of
from treenail.domain.model.pods import PodSpec


def container(name: str, *, always: bool = False, limits: Any = None, **requests: Any) -> dict[str, Any]:
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    return {"name": name, "resources": resources, **({"restartPolicy": "Always"} if always else {})}


def asks(spec: PodSpec) -> dict[str, str]:
    return {name: amount for name, amount in spec.requests.format().items() if name != "pods"}


def test_containers_ask_together() -> None:
    spec = a_pod(containers=[container("a", cpu="500m"), container("b", cpu=1, memory="1Gi")]).spec

    assert asks(spec) == {"cpu": "1500m", "memory": "1Gi"}
    assert spec.requests["pods"] == 1


def test_init_containers_run_one_after_the_other_before_them() -> None:
    init = [container("i", cpu=3), container("j", cpu=1, memory="2Gi")]

    spec = a_pod(initContainers=init, containers=[container("a", cpu=2, memory="1Gi")]).spec

    assert asks(spec) == {"cpu": "3", "memory": "2Gi"}


def test_sidecars_run_beside_what_starts_after_them() -> None:
    init = [
        container("first", cpu=2),
        container("sidecar", always=True, cpu="500m"),
        container("second", cpu=2),
    ]

    spec = a_pod(initContainers=init, containers=[container("a", cpu=1)]).spec

    assert asks(spec) == {"cpu": "2500m"}


def test_sidecars_add_to_the_containers_where_those_ask_for_more() -> None:
    init = [container("sidecar", always=True, cpu="500m"), container("i", cpu=1)]

    assert asks(a_pod(initContainers=init, containers=[container("a", cpu=4)]).spec) == {"cpu": "4500m"}


def test_a_limit_alone_is_requested() -> None:
    spec = a_pod(containers=[container("a", limits={"cpu": 2, "memory": "1Gi"}, cpu=1)]).spec

    assert asks(spec) == {"cpu": "1", "memory": "1Gi"}
    assert spec.limits.format() == {"cpu": "2", "memory": "1Gi"}


def test_what_a_pod_asks_for_as_a_whole_replaces_its_containers_sum() -> None:
    device = {"name": "b", "resources": {"requests": {"nvidia.com/gpu": 1}}}

    spec = a_pod(
        resources={"requests": {"cpu": 4}, "limits": {"cpu": 5, "memory": "8Gi"}},
        containers=[container("a", cpu=1, memory="1Gi"), device],
    ).spec

    assert asks(spec) == {"cpu": "4", "memory": "1Gi", "nvidia.com/gpu": "1"}
    assert spec.limits.format() == {"cpu": "5", "memory": "8Gi"}


def test_a_limit_of_the_whole_pod_is_requested_where_no_container_asks() -> None:
    assert asks(a_pod(resources={"limits": {"memory": "8Gi"}}).spec) == {"memory": "8Gi"}


def test_overhead_comes_on_top_and_on_limits_that_are_there() -> None:
    spec = a_pod(
        overhead={"cpu": "250m", "memory": "100Mi"}, containers=[container("a", limits={"cpu": 1}, cpu=1)]
    ).spec

    assert asks(spec) == {"cpu": "1250m", "memory": "100Mi"}
    assert spec.limits.format() == {"cpu": "1250m"}


def test_asking_for_nothing_of_something_is_not_asking() -> None:
    assert a_pod(containers=[container("a", cpu=0)]).spec is not None
    assert asks(a_pod(containers=[container("a", cpu=0)]).spec) == {}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"resources": {"requests": {"cpu": 1}}, "containers": [container("a", cpu=2)]},
            "resources.requests.cpu: 1 is less than its containers request, 2",
        ),
        (
            {"resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}},
            "resources.requests.cpu: 2 is more than the limit of 1",
        ),
        (
            {"resources": {"requests": {"nvidia.com/gpu": 2}}},
            'resources: "nvidia.com/gpu" cannot be given for a whole pod',
        ),
        (
            {"initContainers": [container("a", cpu="-1")]},
            'initContainers[0].resources.requests.cpu: "-1" must not be negative',
        ),
        (
            {"overhead": {"cpu": "a lot"}},
            'overhead.cpu: "a lot" is not a quantity (such as 500m, 2 or 1.5Gi)',
        ),
    ],
)
def test_what_cannot_be_asked_for_is_refused(spec: dict[str, Any], expected: str) -> None:
    assert problem_of(pod_tree(**spec)) == f"Pod p: spec.{expected}"
