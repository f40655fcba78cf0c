"""Placement groups over the wire: found, and launched into."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.real.ec2.accounts import Account, node_class
from tests.real.ec2.clouds import LaidOut, cloud_of, request
from tests.real.lab.lab import Lab
from treenail.adapters.ec2.resolved import PlacementGroup, Resolved
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import NodeClass, SelectorTerm

LATEST = SelectorTerm(alias="al2023@latest")


class Grouped(LaidOut):
    """The laboratory, where every class means one placement group."""

    def __init__(self, lab: Lab, group: str) -> None:
        super().__init__(lab)
        self._group = PlacementGroup(
            id=group, name="close", strategy="cluster", without=frozenset({"t3.large"})
        )

    def resolve(self, node_class: NodeClass) -> Resolved:
        return replace(super().resolve(node_class), placement_group=self._group)


def made(lab: Lab, name: str = "close", strategy: str = "cluster") -> str:
    answer = lab.client("ec2").create_placement_group(GroupName=name, Strategy=strategy)
    return str(answer["PlacementGroup"]["GroupId"])


def in_group(term: SelectorTerm) -> NodeClass:
    return replace(node_class(LATEST), placement_group=term)


def test_a_group_is_found_by_name_and_by_id(lab: Lab) -> None:
    group, _other = made(lab), made(lab, "apart", "spread")
    catalogue = Account(lab).catalogue

    for term in (SelectorTerm(name="close"), SelectorTerm(id=group)):
        found = catalogue.resolve(in_group(term)).placement_group
        assert found == PlacementGroup(id=group, name="close", strategy="cluster")


@pytest.mark.parametrize("term", [SelectorTerm(name="nowhere"), SelectorTerm(id="pg-0")])
def test_a_group_that_is_not_there_keeps_the_class_from_being_ready(lab: Lab, term: SelectorTerm) -> None:
    with pytest.raises(NodeClassNotReadyError, match="finds no group that is available"):
        Account(lab).catalogue.resolve(in_group(term))


def test_instances_are_launched_into_the_group(lab: Lab) -> None:
    group = made(lab)

    (_bought,) = cloud_of(lab, Grouped(lab, group)).launch(request("t3.large/a", "m5.large/a")).instances

    ec2 = lab.client("ec2")
    (template,) = ec2.describe_launch_templates()["LaunchTemplates"]
    (version,) = ec2.describe_launch_template_versions(LaunchTemplateId=template["LaunchTemplateId"])[
        "LaunchTemplateVersions"
    ]
    assert version["LaunchTemplateData"]["Placement"] == {"GroupId": group}
    (instance,) = (i for r in ec2.describe_instances()["Reservations"] for i in r["Instances"])
    assert instance["InstanceType"] == "m5.large"
