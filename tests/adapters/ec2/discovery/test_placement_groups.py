from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.discovery.account import Account, node_class
from treenail.adapters.ec2.discovery.placement_groups import PlacementGroups
from treenail.adapters.ec2.resolved import PlacementGroup
from treenail.domain.model.errors import InvalidError, NodeClassNotReadyError
from treenail.domain.model.node_classes import NodeClass, SelectorTerm

DESCRIBE = "ec2.describe_placement_groups"
NAMED, BY_ID = SelectorTerm(name="close"), SelectorTerm(id="pg-1")


def of(term: SelectorTerm) -> NodeClass:
    return replace(node_class(), placement_group=term)


def group(state: str = "available", strategy: str = "cluster") -> dict[str, str]:
    return {"GroupId": "pg-1", "GroupName": "close", "State": state, "Strategy": strategy}


def find(account: Account, node_class: NodeClass) -> PlacementGroup | None:
    return PlacementGroups(account.aws, account.caches).of(node_class)


def test_a_class_without_a_selector_is_in_no_group_and_nobody_is_asked(account: Account) -> None:
    assert find(account, node_class()) is None


@pytest.mark.parametrize(
    ("term", "asked"),
    [(NAMED, {"GroupNames": ["close"]}), (BY_ID, {"GroupIds": ["pg-1"]})],
)
def test_a_group_is_found_by_name_or_id(
    account: Account, term: SelectorTerm, asked: dict[str, list[str]]
) -> None:
    account.answers(DESCRIBE, {"PlacementGroups": [group()]}, **asked)

    assert find(account, of(term)) == PlacementGroup(id="pg-1", name="close", strategy="cluster")


@pytest.mark.parametrize("code", ["InvalidPlacementGroup.Unknown", "InvalidPlacementGroupId.Malformed"])
def test_a_group_that_is_not_there_keeps_the_class_from_being_ready(account: Account, code: str) -> None:
    account.refuses(DESCRIBE, code)

    with pytest.raises(NodeClassNotReadyError, match=r"finds no group that is available \(id pg-1\)") as told:
        find(account, of(BY_ID))

    assert told.value.reason == "PlacementGroupNotFound"


def test_a_group_that_is_being_made_or_deleted_is_none_yet(account: Account) -> None:
    account.answers(DESCRIBE, {"PlacementGroups": [group("pending")]})

    with pytest.raises(NodeClassNotReadyError, match=r"\(name close\)"):
        find(account, of(NAMED))


def test_what_we_may_not_ask_is_another_matter(account: Account) -> None:
    account.refuses(DESCRIBE, "UnauthorizedOperation")

    with pytest.raises(InvalidError):
        find(account, of(NAMED))


def test_a_parted_group_says_how_many_partitions_it_has(account: Account) -> None:
    parted = {**group(strategy="partition"), "PartitionCount": 5}
    account.answers(DESCRIBE, {"PlacementGroups": [parted]})

    found = find(account, of(NAMED))

    assert found is not None
    assert found.partitions == 5
