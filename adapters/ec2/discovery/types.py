"""Instance types of a region, and the zones that sell them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from treenail.adapters.ec2.described import DescribedType, record_of
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.discovery.regional import Regional
from treenail.adapters.ec2.records import TypeRecord, shipped_types

if TYPE_CHECKING:  # the types of answers are not there at run time
    from types_boto3_ec2.type_defs import (
        InstanceTypeInfoTypeDef,
    )

_TYPES_PAGE: Final = 100
_OFFERINGS_PAGE: Final = 1000

# The zones that sell each instance type, sorted.
SoldIn: TypeAlias = Mapping[str, tuple[str, ...]]
Zoned: TypeAlias = Literal["availability-zone", "availability-zone-id"]


# What msgspec knows of a class is worked out here, at import: two threads that did it at once might crash.
msgspec.json.Decoder(DescribedType)


class InstanceTypes(Regional[tuple[TypeRecord, ...]]):
    """The instance types that nodes can run on, as EC2 describes them; cached for twelve hours."""

    def __init__(self, aws: Aws, caches: AnswerCaches) -> None:
        super().__init__(aws, caches, "instance types")
        self._log = caches.log

    def _find(self, _region: str) -> tuple[TypeRecord, ...]:
        shipped = {record.name: record for record in shipped_types()}
        found: dict[str, TypeRecord] = {}
        ask = partial(self._aws.clients.ec2.describe_instance_types, MaxResults=_TYPES_PAGE)
        # One page after the other is cut down to what we keep: as botocore gives them, all types are 40 MB.
        for page in self._aws.pages("ec2", "DescribeInstanceTypes", ask):
            for described in page["InstanceTypes"]:
                record = self._record(described, shipped)
                if record is not None:
                    found[record.name] = record
        return tuple(found[name] for name in sorted(found))

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


class Offerings(Regional[SoldIn]):
    """The zones that sell each instance type; cached for twelve hours."""

    def __init__(self, aws: Aws, caches: AnswerCaches) -> None:
        super().__init__(aws, caches, "instance type offerings")

    def _find(self, _region: str) -> SoldIn:
        sold: defaultdict[str, set[str]] = defaultdict(set)
        for name, zone in offerings(self._aws, "availability-zone"):
            sold[name].add(zone)
        # There are a few combinations of zones only.
        alike: dict[tuple[str, ...], tuple[str, ...]] = {}
        combinations = ((name, tuple(sorted(zones))) for name, zones in sold.items())
        return {name: alike.setdefault(zones, zones) for name, zones in combinations}


def offerings(aws: Aws, by: Zoned) -> Iterator[tuple[str, str]]:
    """Yield each type that the region sells, with a zone that has it: by the zone's name, or by its id.

    Raises:
        PortError: they could not be looked up.
    """
    describe = aws.clients.ec2.describe_instance_type_offerings
    ask = partial(describe, LocationType=by, MaxResults=_OFFERINGS_PAGE)
    for page in aws.pages("ec2", "DescribeInstanceTypeOfferings", ask):
        for offering in page["InstanceTypeOfferings"]:
            yield offering["InstanceType"], offering["Location"]
