"""The placement group that a node class selects."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from treenail.adapters.ec2.call_errors import code_of
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.resolved import PlacementGroup
from treenail.domain.model.errors import InvalidError, NodeClassNotReadyError, NotFoundError
from treenail.domain.model.node_classes import NodeClass, SelectorTerm

if TYPE_CHECKING:  # the types of answers are not there at run time
    from types_boto3_ec2.type_defs import DescribePlacementGroupsResultTypeDef

_SECONDS: Final = 60.0
# What EC2 says of a group that is not there, or of an id that is none.
_UNKNOWN: Final = "InvalidPlacementGroup"
_AVAILABLE: Final = "available"


class PlacementGroups:
    """A finder of placement groups; results are cached for a minute."""

    def __init__(self, aws: Aws, caches: AnswerCaches) -> None:
        self._aws = aws
        self._found = caches.of("placement groups", self._find, seconds=_SECONDS)

    def of(self, node_class: NodeClass) -> PlacementGroup | None:
        """Return the group that instances of a node class are launched into, None where it names none.

        Raises:
            NodeClassNotReadyError: no group has that name or id, or it is not available.
            PortError: it could not be looked up.
        """
        term = node_class.placement_group
        if term is None:
            return None
        found = self._found.get(term)
        if found is None:
            called = f"name {term.name}" if term.name else f"id {term.id}"
            raise NodeClassNotReadyError(
                f"{node_class.ref}: its placementGroupSelector finds no group that is available ({called})",
                reason="PlacementGroupNotFound",
            )
        return found

    def _find(self, term: SelectorTerm) -> PlacementGroup | None:
        try:
            answer = self._aws.retries.call("ec2", "DescribePlacementGroups", partial(self._ask, term))
        except NotFoundError:
            return None
        except InvalidError as error:
            if code_of(error).startswith(_UNKNOWN):
                return None
            raise
        for group in answer["PlacementGroups"]:
            if group.get("State") == _AVAILABLE:
                return PlacementGroup(
                    id=group["GroupId"],
                    name=group.get("GroupName", ""),
                    strategy=group.get("Strategy", ""),
                    partitions=group.get("PartitionCount", 0),
                )
        return None

    def _ask(self, term: SelectorTerm) -> DescribePlacementGroupsResultTypeDef:
        describe = self._aws.clients.ec2.describe_placement_groups
        return describe(GroupNames=[term.name]) if term.name else describe(GroupIds=[term.id])
