"""Dry runs over the wire: what the controller may not do of a launch is found, and nothing is bought."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import node_pool
from tests.real.ec2.accounts import Account, node_class
from tests.real.ec2.clouds import LaidOut
from tests.real.lab.lab import Lab
from treenail.adapters.ec2.cloud import EC2Cloud
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_class_status import VALIDATED, NodeClassStatus
from treenail.domain.model.node_classes import DEFAULT_KUBELET, SelectorTerm
from treenail.domain.model.nodes import Condition, condition_of

CLASS = replace(node_class(SelectorTerm(alias="al2023@latest")), uid="uid-1")
POOLS = (replace(node_pool("web"), node_class=CLASS.ref),)
ACTIONS = ("CreateLaunchTemplate", "CreateFleet", "RunInstances")


class Trying:
    """A cloud that tries launches, over an account whose calls are counted."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.account = Account(lab)
        self.cloud = EC2Cloud(
            self.account.aws,
            self.account.time,
            cluster_name=lab.cluster,
            node_classes=LaidOut(lab),
            facts=self.account.cluster.facts,
            default_instance_profile=lab.estate["instance_profile"],
            dry_run=True,
            log=self.account._log,
        )

    def status(self) -> NodeClassStatus:
        return self.cloud.node_class_status(CLASS, POOLS)

    def validated(self) -> Condition | None:
        return condition_of(self.status().conditions, VALIDATED)

    def tried(self) -> int:
        """Return how many calls were made that launch."""
        return sum(self.lab.calls().get(f"ec2:{action}", 0) for action in ("CreateFleet", "RunInstances"))


def test_where_all_is_allowed_nothing_is_said_nothing_bought_and_nothing_asked_again(lab: Lab) -> None:
    trying = Trying(lab)

    assert trying.validated() is None
    tried = trying.tried()
    assert tried == 2
    assert lab.client("ec2").describe_instances()["Reservations"] == []
    trying.account.time.sleep(1700)
    assert trying.validated() is None
    assert trying.tried() == tried
    trying.account.time.sleep(200)
    assert trying.validated() is None
    assert trying.tried() == 2 * tried


@pytest.mark.parametrize("action", ACTIONS)
def test_what_is_forbidden_is_told_and_nothing_is_sold_until_it_is_allowed(lab: Lab, action: str) -> None:
    trying = Trying(lab)
    why = "You are not authorized."
    lab.fault("ec2", action, code="UnauthorizedOperation", status=403, message=why, times=None)

    condition = trying.validated()

    assert condition is not None
    assert condition.reason == f"{action}AuthCheckFailed"
    assert why in condition.message
    with pytest.raises(NodeClassNotReadyError) as refused:
        trying.cloud.instance_types(CLASS, DEFAULT_KUBELET)
    assert refused.value.reason == condition.reason
    lab.clear_faults()
    assert trying.validated() == condition
    trying.account.time.sleep(301)
    assert trying.validated() is None
    assert trying.cloud.instance_types(CLASS, DEFAULT_KUBELET)


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "InvalidParameterValue"])
def test_what_is_refused_for_another_reason_says_nothing(lab: Lab, code: str) -> None:
    trying = Trying(lab)
    lab.fault("ec2", "CreateFleet", code=code, status=400, times=None)

    assert trying.validated() is None
    assert trying.cloud.instance_types(CLASS, DEFAULT_KUBELET)


def test_another_pool_is_tried_at_once(lab: Lab) -> None:
    trying = Trying(lab)
    assert trying.validated() is None
    tried = trying.tried()

    trying.cloud.node_class_status(CLASS, (*POOLS, replace(POOLS[0], name="other")))
    trying.cloud.node_class_status(CLASS)

    assert trying.tried() > tried
