"""Subnets and security groups that selector terms select."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.discovery.terms import questions
from treenail.adapters.ec2.resolved import SecurityGroup, Subnet
from treenail.domain.model.node_classes import NodeClass, SelectorTerm
from treenail.domain.status.node_class_parts import nothing_found

if TYPE_CHECKING:  # the types of answers are not there at run time
    from types_boto3_ec2.type_defs import SecurityGroupTypeDef, SubnetTypeDef

# Launches change how many addresses are free; groups hardly ever change.
_SUBNET_SECONDS: Final = 60.0
_GROUP_SECONDS: Final = 300.0
_PAGE: Final = 500

Terms = tuple[SelectorTerm, ...]


class Subnets:
    """A finder of subnets; results are cached for `seconds`, by default a minute."""

    def __init__(self, aws: Aws, caches: AnswerCaches, *, seconds: float = _SUBNET_SECONDS) -> None:
        self._aws = aws
        self._clock = caches.clock
        self._found = caches.of("subnets", self._find, seconds=seconds)

    def of(self, node_class: NodeClass) -> tuple[Subnet, ...]:
        """Return the subnets of a node class, those with the most free addresses first.

        Raises:
            NodeClassNotReadyError: there are none.
            PortError: they could not be looked up.
        """
        terms = node_class.subnet_terms
        found = self._found.get(terms)
        if not found:
            raise nothing_found("subnets", node_class, terms)
        return found

    def _find(self, terms: Terms) -> tuple[Subnet, ...]:
        looked_at = self._clock.monotonic()
        found = {subnet.id: replace(subnet, looked_at=looked_at) for subnet in self._ask(terms)}
        return tuple(sorted(found.values(), key=lambda one: (-one.free_addresses, one.id)))

    def _ask(self, terms: Terms) -> Iterator[Subnet]:
        describe = partial(self._aws.clients.ec2.describe_subnets, MaxResults=_PAGE)
        for filters in questions(terms, by_id="subnet-id"):
            for page in self._aws.pages("ec2", "DescribeSubnets", partial(describe, Filters=filters)):
                yield from map(_subnet, page["Subnets"])


class SecurityGroups:
    """A finder of security groups; results are cached for five minutes."""

    def __init__(self, aws: Aws, caches: AnswerCaches) -> None:
        self._aws = aws
        self._found = caches.of("security groups", self._find, seconds=_GROUP_SECONDS)

    def of(self, node_class: NodeClass) -> tuple[SecurityGroup, ...]:
        """Return a node class's security groups, sorted by id.

        Raises:
            NodeClassNotReadyError: there are none.
            PortError: they could not be looked up.
        """
        terms = node_class.security_group_terms
        found = self._found.get(terms)
        if not found:
            raise nothing_found("security groups", node_class, terms)
        return found

    def _find(self, terms: Terms) -> tuple[SecurityGroup, ...]:
        found = {group["GroupId"]: group.get("GroupName", "") for group in self._ask(terms)}
        return tuple(SecurityGroup(id=one, name=name) for one, name in sorted(found.items()))

    def _ask(self, terms: Terms) -> Iterator[SecurityGroupTypeDef]:
        describe = partial(self._aws.clients.ec2.describe_security_groups, MaxResults=_PAGE)
        for filters in questions(terms, by_id="group-id", by_name="group-name"):
            for page in self._aws.pages("ec2", "DescribeSecurityGroups", partial(describe, Filters=filters)):
                yield from page["SecurityGroups"]


def _subnet(found: SubnetTypeDef) -> Subnet:
    return Subnet(
        id=found["SubnetId"],
        zone=found["AvailabilityZone"],
        zone_id=found.get("AvailabilityZoneId", ""),
        free_addresses=found["AvailableIpAddressCount"],
    )
