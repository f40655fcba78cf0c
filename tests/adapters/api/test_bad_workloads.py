from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.api.builders import (
    PAUSE,
    deployment_tree,
    pod_tree,
    problem_of,
)


def asking(**resources: Any) -> dict[str, Any]:
    return pod_tree(containers=[PAUSE | {"resources": resources}])


OTHER = {"matchLabels": {"app": "other"}}
NEVER_RESTARTED = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [PAUSE], "restartPolicy": "Never"},
}

WORKLOADS = {
    "absurdly many replicas": (
        deployment_tree(replicas=1_000_000),
        "spec.replicas: 1000000 is absurdly many: the limit is 100000",
    ),
    "negative replicas": (deployment_tree(replicas=-1), "spec.replicas: -1 must not be negative"),
    "replicas in words": (
        deployment_tree(replicas="three"),
        'spec.replicas: expected a whole number, got text "three"',
    ),
    "selector that matches nothing": (
        deployment_tree(selector=OTHER),
        "spec.selector: matches nothing: the template's labels are not what it selects",
    ),
    "empty selector": (
        deployment_tree(selector={}),
        "spec.selector: is empty: it must select the template's labels",
    ),
    "pods that are not restarted": (
        deployment_tree(template=NEVER_RESTARTED),
        'spec.template.spec.restartPolicy: "Never" is not allowed here: it must be Always',
    ),
}

PODS = {
    "request over limit": (
        asking(requests={"cpu": 2}, limits={"cpu": 1}),
        "spec.containers[0].resources.requests.cpu: 2 is more than the limit of 1",
    ),
    "unknown resource": (
        asking(requests={"memroy": "1Gi"}),
        'spec.containers[0].resources: "memroy" is not a resource; did you mean memory?',
    ),
    "no container": (pod_tree(containers=[]), "spec.containers: needs at least 1 item(s)"),
    "one container twice": (
        pod_tree(containers=[PAUSE, PAUSE]),
        'spec.containers[1].name: "c" is there twice',
    ),
    "unknown restart policy": (
        pod_tree(restartPolicy="Sometimes"),
        'spec.restartPolicy: "Sometimes" is not one of Always, Never, OnFailure',
    ),
    "toleration of nothing": (
        pod_tree(tolerations=[{"value": "x"}]),
        "spec.tolerations[0].operator: must be Exists where there is no key",
    ),
    "spread without skew": (
        pod_tree(
            topologySpreadConstraints=[
                {"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
            ]
        ),
        "spec.topologySpreadConstraints[0].maxSkew: 0 is not between 1 and 2147483647",
    ),
    "missing node": (pod_tree(nodeName="gone"), "spec.nodeName: there is no Node gone"),
}


@pytest.mark.parametrize("case", sorted(WORKLOADS))
def test_a_bad_workload_is_refused_in_one_line_with_field_and_problem(case: str) -> None:
    tree, line = WORKLOADS[case]

    assert problem_of(tree) == f"Deployment web: {line}"


@pytest.mark.parametrize("case", sorted(PODS))
def test_a_bad_pod_is_refused_in_one_line_with_field_and_problem(case: str) -> None:
    tree, line = PODS[case]

    assert problem_of(tree) == f"Pod p: {line}"
