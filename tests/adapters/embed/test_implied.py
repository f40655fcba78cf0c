from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import START, pending_pod, spec
from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.api.workloads import PriorityClass
from treenail.adapters.embed.implied import ManifestAdmission, namespaces_of, volume_claims_of
from treenail.adapters.embed.simulation import FixedCatalogue, Simulation
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.pods import LabelSelector, Pod, PodAffinityTerm
from treenail.domain.packing.problem import PackingSettings

HIGH = PriorityClass(name="high", value=1_000)
USUAL = PriorityClass(name="usual", value=10, global_default=True)
STATEFUL_SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: db}]}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: fast}}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-1, namespace: shop}
spec: {storageClassName: fast, volumeName: v-1}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
"""


def a_pod(name: str = "p", **fields: Any) -> Pod:
    return replace(pending_pod(name), spec=spec(**fields))


def decoded(text: str) -> Decoded:
    return decode_all(parse_manifests(text.encode(), "x.yaml"))


def test_namespaces_are_there_that_something_lives_in_and_all_bear_their_names() -> None:
    written = Namespace(name="blue", labels={"team": "b"})

    found = namespaces_of(Decoded(namespaces=(written,), pods=(replace(a_pod(), namespace="shop"),)))

    assert [(one.name, dict(one.labels)) for one in found] == [
        ("blue", {"team": "b", "kubernetes.io/metadata.name": "blue"}),
        ("shop", {"kubernetes.io/metadata.name": "shop"}),
    ]


def test_a_stateful_set_has_the_claims_that_are_not_written() -> None:
    found = volume_claims_of(decoded(STATEFUL_SET))

    assert [(claim.key, claim.volume_name) for claim in found] == [
        ("shop/data-db-0", ""),
        ("shop/data-db-1", "v-1"),
    ]


def test_the_pods_of_a_stateful_set_need_what_their_claims_do() -> None:
    simulation = Simulation(decoded(STATEFUL_SET), FixedCatalogue(()), PackingSettings())
    simulation.decide()

    needs = simulation._problem.volumes
    assert needs["shop/db-0"].fresh == (("ebs.csi.aws.com", 1),)
    assert needs["shop/db-1"].problem == "the claim shop/data-db-1 is still being bound to the volume v-1"


@pytest.mark.parametrize(
    ("pod", "priority", "warnings"),
    [
        (a_pod(priority_class="high"), 1_000, ()),
        (a_pod(), 10, ()),
        (a_pod(priority=7), 7, ()),
        (a_pod(priority_class="system-node-critical"), 2_000_001_000, ()),
        (
            a_pod(priority_class="gone"),
            0,
            ("Pod default/p: spec.priorityClassName: there is no PriorityClass gone",),
        ),
        (
            a_pod(priority_class="high", priority=7),
            7,
            ("Pod default/p: spec.priorityClassName: priority 7 is not 1000, that of high",),
        ),
    ],
)
def test_a_pod_has_the_priority_of_its_class(pod: Pod, priority: int, warnings: tuple[str, ...]) -> None:
    admission = ManifestAdmission(Decoded(priority_classes=(HIGH, USUAL)))

    assert admission.admit(pod).spec.priority == priority
    assert admission.warnings == warnings


def test_pods_that_shared_a_spec_share_one_after() -> None:
    term = PodAffinityTerm(topology_key="zone", selector=LabelSelector(), match_label_keys=("release",))
    template = spec(priority_class="high", pod_affinity=(term,))
    admission = ManifestAdmission(Decoded(priority_classes=(HIGH,)))

    first, second, other = (
        admission.admit(
            Pod(uid=str(n), name=str(n), spec=template, labels={"release": release}, created_at=START)
        )
        for n, release in enumerate(("v1", "v1", "v2"))
    )

    assert first.spec is second.spec
    assert first.spec != other.spec


def test_pods_that_wait_for_gates_are_left_out() -> None:
    gated = a_pod(scheduling_gates=("example.com/wait",))

    simulation = Simulation(Decoded(pods=(gated, a_pod("q"))), FixedCatalogue(()), PackingSettings())
    simulation.decide()

    assert simulation.pod_names == {"q": "default/q"}
    assert simulation.warnings == (
        "Pod default/p: spec.schedulingGates: is left out, as it waits for example.com/wait",
    )


def test_pods_that_wait_for_the_same_gates_are_told_of_in_one_line() -> None:
    gated = tuple(a_pod(name, scheduling_gates=("example.com/wait",)) for name in ("p", "q", "r"))

    simulation = Simulation(Decoded(pods=gated), FixedCatalogue(()), PackingSettings())

    assert simulation.warnings == (
        "Pod default/p: spec.schedulingGates: is left out, as are 2 more that wait for example.com/wait",
    )
