"""The VPC of the instances: subnets with their addresses, and security groups."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network
from typing import Final

from treenail.adapters.api.account import SecurityGroup, Subnet
from treenail.adapters.fake.ec2.selectors import select
from treenail.domain.model.node_classes import NodeClass

# AWS keeps the first four addresses of a subnet and the last one.
_KEPT_FIRST: Final = 4
_KEPT: Final = 5


def default_subnets(zones: Sequence[str]) -> tuple[Subnet, ...]:
    """Return one subnet of 8,187 free addresses for each zone, as large clusters are laid out."""
    blocks = IPv4Network("192.168.0.0/16").subnets(new_prefix=19)
    return tuple(
        Subnet(id=f"subnet-{digits(zone)}", zone=zone, cidr=str(block))
        for zone, block in zip(zones, blocks, strict=False)
    )


def default_groups() -> tuple[SecurityGroup, ...]:
    """Return the one security group of a cluster's nodes."""
    return (SecurityGroup(id=f"sg-{digits('nodes')}"),)


def digits(name: str) -> str:
    """Return 17 hexadecimal digits, for the same name always the same."""
    return hashlib.blake2b(name.encode(), digest_size=9).hexdigest()[:17]


class _Addresses:
    """The addresses of a subnet, handed out one after the other, so that one given back rests a while."""

    def __init__(self, cidr: str) -> None:
        self._network = IPv4Network(cidr)
        self._size = max(self._network.num_addresses - _KEPT, 0)
        self._taken: dict[str, None] = {}
        self._next = 0

    @property
    def free(self) -> int:
        return self._size - len(self._taken)

    def take(self) -> str:
        """Take an address and return it. There must be a free one."""
        while True:
            address = str(self._network[_KEPT_FIRST + self._next])
            self._next = (self._next + 1) % self._size
            if address not in self._taken:
                self._taken[address] = None
                return address

    def give_back(self, address: str) -> None:
        self._taken.pop(address, None)


class Vpc:
    """The network of a cluster.

    Raises:
        ValueError: two subnets share an id, or addresses.
    """

    def __init__(self, subnets: Iterable[Subnet], groups: Iterable[SecurityGroup]) -> None:
        self._subnets: dict[str, Subnet] = {}
        self._addresses: dict[str, _Addresses] = {}
        self._groups = list(groups)
        for subnet in subnets:
            self.add_subnet(subnet)

    def add_subnet(self, subnet: Subnet) -> None:
        """Add a subnet; its id and addresses must not be another's."""
        block = IPv4Network(subnet.cidr)
        for other in self._subnets.values():
            if other.id == subnet.id or block.overlaps(IPv4Network(other.cidr)):
                raise ValueError(f"{subnet.id} ({subnet.cidr}) conflicts with {other.id} ({other.cidr})")
        self._subnets[subnet.id] = subnet
        self._addresses[subnet.id] = _Addresses(subnet.cidr)

    def add_group(self, group: SecurityGroup) -> None:
        """Add a security group."""
        self._groups.append(group)

    @property
    def subnets(self) -> tuple[Subnet, ...]:
        """The subnets, in the order they were added."""
        return tuple(self._subnets.values())

    @property
    def groups(self) -> tuple[SecurityGroup, ...]:
        """The security groups, in the order they were added."""
        return tuple(self._groups)

    def subnets_of(self, node_class: NodeClass) -> tuple[Subnet, ...]:
        """Return the subnets a node class selects.

        Raises:
            NodeClassNotReadyError: there are none.
        """
        return select("subnets", node_class, node_class.subnet_terms, self._subnets.values())

    def groups_of(self, node_class: NodeClass) -> tuple[SecurityGroup, ...]:
        """Return the security groups a node class selects.

        Raises:
            NodeClassNotReadyError: there are none.
        """
        return select("security groups", node_class, node_class.security_group_terms, self._groups)

    def group_ids_of(self, node_class: NodeClass) -> tuple[str, ...]:
        """Return the ids of the security groups of its instances, sorted; what a template says is not known.

        Raises:
            NodeClassNotReadyError: there are none.
        """
        if node_class.launch_template:
            return ()
        return tuple(sorted(group.id for group in self.groups_of(node_class)))

    def check_groups(self, node_class: NodeClass) -> None:
        """Check that a node class selects security groups, unless its launch template has them.

        Raises:
            NodeClassNotReadyError: there are none.
        """
        if not node_class.launch_template:
            self.groups_of(node_class)

    def free(self, subnet: Subnet) -> int:
        """Return how many addresses are free in a subnet."""
        return self._addresses[subnet.id].free

    def roomiest(self, subnets: Iterable[Subnet], zone: str) -> Subnet | None:
        """Return which of these subnets in a zone has the most free addresses; None if none is there."""
        return min(
            (subnet for subnet in subnets if subnet.zone == zone),
            key=lambda subnet: (-self.free(subnet), subnet.id),
            default=None,
        )

    def take(self, subnet: Subnet) -> str:
        """Return a free address of a subnet, which must have one, and keep it taken."""
        return self._addresses[subnet.id].take()

    def give_back(self, subnet_id: str, address: str) -> None:
        """Let an address be free again."""
        self._addresses[subnet_id].give_back(address)
