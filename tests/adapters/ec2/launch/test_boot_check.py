from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.launch.orders import FACTS, node_class
from treenail.adapters.ec2.launch import boot_check
from treenail.adapters.ec2.launch.boot_check import BootCheck
from treenail.adapters.ec2.launch.user_data import user_data
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.errors import NodeClassNotReadyError, UnavailableError
from treenail.domain.model.node_classes import DEFAULT_KUBELET, AmiFamily, Kubelet, NodeClass
from treenail.domain.model.resources import Resources

BROKEN = "MIME-Version: 1.0\nContent-Type: multipart/mixed\n\nno parts"


@pytest.mark.parametrize(
    ("of", "cluster", "problem"),
    [
        (node_class(AmiFamily.BOTTLEROCKET, user_data="echo"), FACTS, "it is not TOML"),
        (node_class(), replace(FACTS, service_cidr=""), "needs the range of the cluster's services"),
        (node_class(user_data="x" * 20_000), FACTS, "of which EC2 takes 16384"),
        (node_class(user_data=BROKEN), FACTS, "its MIME is broken"),
    ],
)
def test_a_class_whose_instances_could_not_boot_is_not_ready_every_time(
    of: NodeClass, cluster: ClusterFacts, problem: str
) -> None:
    check = BootCheck(lambda: cluster)

    for _ in range(2):
        with pytest.raises(NodeClassNotReadyError, match=problem):
            check.check(of, DEFAULT_KUBELET)


def test_user_data_is_made_for_trial_once_for_each_version_of_a_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    def counted(of: NodeClass, *rest: object) -> str:
        made.append(of.resource_version)
        return user_data(of, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(boot_check, "user_data", counted)
    check = BootCheck(lambda: FACTS)
    kubelet = Kubelet(kube_reserved=Resources.parse({"cpu": "100m"}))

    for version in (1, 1, 2, 2):
        check.check(replace(node_class(), resource_version=version), kubelet)

    assert made == [1, 2]


def test_while_nobody_tells_of_the_cluster_no_class_is_at_fault() -> None:
    def silent() -> ClusterFacts:
        raise UnavailableError("no answer")

    BootCheck(silent).check(node_class(AmiFamily.BOTTLEROCKET), DEFAULT_KUBELET)
