"""Instance types of a region, and the zones that sell them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from treenail.adapters.ec2.described import DescribedType, record_of
from treenail.adapters.ec2.discovery.asking import Aws, More
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.records import TypeRecord, shipped_types

if TYPE_CHECKING:  # the types of answers are not there at run time
    from types_boto3_ec2.type_defs import (
        DescribeInstanceTypeOfferingsResultTypeDef,
        DescribeInstanceTypesResultTypeDef,
        InstanceTypeInfoTypeDef,
    )

_SECONDS: Final = 12 * 3600.0
_TYPES_PAGE: Final = 100
_OFFERINGS_PAGE: Final = 1000

# The zones that sell each instance type, sorted.
SoldIn: TypeAlias = Mapping[str, tuple[str, ...]]


# What msgspec knows of a class is worked out here, at import: two threads that did it at once might crash.
msgspec.json.Decoder(DescribedType)


class InstanceTypes:
    """Describes all types a node can run on; what it found it remembers for twelve hours."""

    def __init__(self, aws: Aws, caches: AnswerCaches) -> None:
        self._aws = aws
        self._log = caches.log
        self._found = caches.of("instance types", self._find, seconds=_SECONDS)

    def read(self, *, ahead: float = 0.0) -> tuple[TypeRecord, ...]:
        """Return every type, sorted by name; those that would be old in `ahead` seconds are looked up anew.

        Raises:
            PortError: they could not be looked up.
        """
        return self._found.get(self._aws.clients.region, ahead=ahead)

    def fresh(self, *, ahead: float = 0.0) -> bool:
        """Return whether `read` would return at once."""
        return self._found.fresh(self._aws.clients.region, ahead=ahead)

    def last(self) -> tuple[TypeRecord, ...] | None:
        """Return what was found at last, however long ago; None before it was ever looked up."""
        return self._found.last(self._aws.clients.region)

    def _find(self, _region: str) -> tuple[TypeRecord, ...]:
        shipped = {record.name: record for record in shipped_types()}
        found: dict[str, TypeRecord] = {}
        # One page after the other is cut down to what we keep: as botocore gives them, all types are 40 MB.
        for page in self._aws.pages("ec2", "DescribeInstanceTypes", self._page):
            for described in page["InstanceTypes"]:
                record = self._record(described, shipped)
                if record is not None:
                    found[record.name] = record
        return tuple(found[name] for name in sorted(found))

    def _page(self, more: More) -> DescribeInstanceTypesResultTypeDef:
        return self._aws.clients.ec2.describe_instance_types(MaxResults=_TYPES_PAGE, **more)

    def _record(
        self, described: InstanceTypeInfoTypeDef, shipped: Mapping[str, TypeRecord]
    ) -> TypeRecord | None:
        try:
            known = msgspec.convert(described, DescribedType)
        except msgspec.ValidationError as error:
            # EC2 invents new kinds of types now and then; one that is strange shall not hide the others.
            self._log(
                "leaving out an instance type that cannot be understood",
                logger="ec2.discovery",
                level="warning",
                instance_type=described.get("InstanceType", ""),
                error=str(error),
            )
            return None
        if not known.runs_nodes:
            return None
        same = shipped.get(known.instance_type)
        record = record_of(
            known,
            branch_interfaces=same.branch_interfaces if same else 0,
            network_mbps=same.network_mbps if same else None,
        )
        # Most are as they were when the package was made: those need no second copy in memory.
        return same if record == same else record


class Offerings:
    """Finds which zones sell which types; what it found it remembers for twelve hours."""

    def __init__(self, aws: Aws, caches: AnswerCaches) -> None:
        self._aws = aws
        self._found = caches.of("instance type offerings", self._find, seconds=_SECONDS)

    def read(self, *, ahead: float = 0.0) -> SoldIn:
        """Return the zones of each type; what would be old in `ahead` seconds is looked up anew.

        Raises:
            PortError: they could not be looked up.
        """
        return self._found.get(self._aws.clients.region, ahead=ahead)

    def fresh(self, *, ahead: float = 0.0) -> bool:
        """Return whether `read` would return at once."""
        return self._found.fresh(self._aws.clients.region, ahead=ahead)

    def last(self) -> SoldIn | None:
        """Return what was found at last, however long ago; None before it was ever looked up."""
        return self._found.last(self._aws.clients.region)

    def _find(self, _region: str) -> SoldIn:
        sold: defaultdict[str, set[str]] = defaultdict(set)
        for page in self._aws.pages("ec2", "DescribeInstanceTypeOfferings", self._page):
            for offering in page["InstanceTypeOfferings"]:
                sold[offering["InstanceType"]].add(offering["Location"])
        # There are a few combinations of zones only.
        alike: dict[tuple[str, ...], tuple[str, ...]] = {}
        combinations = ((name, tuple(sorted(zones))) for name, zones in sold.items())
        return {name: alike.setdefault(zones, zones) for name, zones in combinations}

    def _page(self, more: More) -> DescribeInstanceTypeOfferingsResultTypeDef:
        describe = self._aws.clients.ec2.describe_instance_type_offerings
        return describe(LocationType="availability-zone", MaxResults=_OFFERINGS_PAGE, **more)
