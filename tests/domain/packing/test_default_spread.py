from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import pending_pod
from treenail.domain.model import labels
from treenail.domain.model.pods import LabelSelector, Owner, Pod, TopologySpread
from treenail.domain.packing.pods.default_spread import with_default_spread

ZONES = TopologySpread(topology_key=labels.ZONE, max_skew=1, hard=True)
OWN = replace(ZONES, max_skew=5)


def pod_of(kind: str, **known: str) -> Pod:
    return replace(
        pending_pod("p1"),
        owners=(Owner(kind=kind, name="web", uid="u1", controller=True),),
        labels={"app": "web", **known},
    )


@pytest.mark.parametrize(
    ("pod", "shared"),
    [
        pytest.param(
            pod_of("ReplicaSet", **{"pod-template-hash": "5d"}), {"pod-template-hash": "5d"}, id="Deployment"
        ),
        pytest.param(pod_of("ReplicaSet"), {"app": "web"}, id="ReplicaSet of its own"),
        pytest.param(
            pod_of("StatefulSet", **{"statefulset.kubernetes.io/pod-name": "web-0"}),
            {"app": "web"},
            id="StatefulSet",
        ),
    ],
)
def test_a_pod_is_spread_among_those_of_its_workload(pod: Pod, shared: dict[str, str]) -> None:
    (spread,) = with_default_spread((pod,), (ZONES,))

    selector = LabelSelector(match_labels=tuple(shared.items()))
    assert spread.spec.spread == (replace(ZONES, selector=selector),)
    assert replace(spread, spec=pod.spec) == pod


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(pod_of("Job"), id="of a Job"),
        pytest.param(replace(pod_of("ReplicaSet"), owners=()), id="of nobody"),
        pytest.param(replace(pod_of("ReplicaSet"), labels={}), id="without labels"),
        pytest.param(
            replace(pod_of("ReplicaSet"), spec=replace(pending_pod("p1").spec, spread=(OWN,))),
            id="with a spread of its own",
        ),
    ],
)
def test_other_pods_stay_as_they_are(pod: Pod) -> None:
    assert with_default_spread((pod,), (ZONES,)) == (pod,)


def test_without_defaults_all_pods_are_the_very_same() -> None:
    pods = (pod_of("ReplicaSet"),)

    assert with_default_spread(pods, ()) is pods
