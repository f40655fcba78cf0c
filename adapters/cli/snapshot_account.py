"""The account of a snapshot: what nodes of the cluster are made of, as one document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any, Final

from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.reading import Reading
from treenail.adapters.api.snapshot.redaction import Tree
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.snapshot_cluster import ClusterWritten
from treenail.domain.model import labels
from treenail.domain.model.errors import NotFoundError, PortError
from treenail.domain.model.node_classes import NodeClass, SelectorTerm

if TYPE_CHECKING:  # the library for it takes a third of a second to import
    from treenail.adapters.ec2.discovery.asking import Aws

_API_VERSION: Final = "treenail.sh/v1alpha1"
# What a node class is written in: a Provisioner may hold its own.
_NODE_CLASSES: Final = ("EC2NodeClass", "AWSNodeTemplate", "Provisioner")
_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
# Whose images a name means where no owner is given: anybody may call an image as they like.
_TRUSTED: Final = ("amazon", "self")
# The platform of reservations in which the nodes of a rehearsal run.
_LINUX: Final = "Linux/UNIX"


@dataclass(frozen=True, slots=True)
class AccountWritten:
    """The account, None where nothing of it could be read, and "PART: why" of what could not be."""

    document: Tree | None
    not_read: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """The number of each part: "6 subnets, 1,204 prices"."""
        spec: Mapping[str, Any] = self.document["spec"] if self.document is not None else {}
        prices = spec.get("prices", {})
        parts = {
            "subnets": len(spec.get("subnets", ())),
            "security groups": len(spec.get("securityGroups", ())),
            "images": len(spec.get("images", ())),
            "capacity reservations": len(spec.get("capacityReservations", ())),
            "placement groups": len(spec.get("placementGroups", ())),
            "prices": len(prices.get("onDemand", ())) + sum(map(len, prices.get("spot", {}).values())),
        }
        return ", ".join(f"{count:,} {name}" for name, count in parts.items())


def write_account(cluster: ClusterWritten, region: str) -> AccountWritten:
    """Read the account in a region, by default that of the cluster's nodes, with the credentials at hand.

    Raises:
        BadInputError: `region` is no name of a region.
    """
    import boto3  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, InvalidRegionError  # noqa: PLC0415

    from treenail.adapters.ec2.call_retries import CallRetries  # noqa: PLC0415
    from treenail.adapters.ec2.clients import Clients  # noqa: PLC0415
    from treenail.adapters.ec2.discovery.asking import Aws  # noqa: PLC0415
    from treenail.adapters.runtime.clock import SystemClock  # noqa: PLC0415
    from treenail.adapters.runtime.dice import SystemDice  # noqa: PLC0415

    try:
        session = boto3.Session()
        if session.get_credentials() is None:
            return AccountWritten(None, ("the account: there are no AWS credentials",))
        clients = Clients.open(region=region or _region_of(cluster.objects), session=session)
    except InvalidRegionError:
        raise BadInputError(f"--region {region}: is no name of a region, such as us-east-1") from None
    except (BotoCoreError, ValueError) as error:
        return AccountWritten(None, (f"the account: {error}",))
    return _Reading(Aws(clients, CallRetries(SystemClock(), SystemDice())), cluster.objects).written()


def _region_of(objects: Iterable[Tree]) -> str:
    """Return the region that most nodes are in, "" where none is in any."""
    named = (_labels(one).get(labels.REGION, "") for one in objects if one["kind"] == "Node")
    regions = Counter(filter(None, named))
    return min(regions, key=lambda one: (-regions[one], one), default="")


def _labels(of: Tree) -> Mapping[str, str]:
    found: Mapping[str, str] = of["metadata"].get("labels", {})
    return found


class _Reading:
    """Reads one part of an account after the other; what may not be read is noted, and the others go on."""

    def __init__(self, aws: Aws, objects: Sequence[Tree]) -> None:
        self._aws = aws
        self._ec2 = aws.clients.ec2
        self._classes = tuple(_node_classes(objects))
        self._claims = [one for one in objects if one["kind"] in {"NodeClaim", "Machine"}]
        self._not_read: list[str] = []

    def written(self) -> AccountWritten:
        """Return the account."""
        subnets = self._part("subnets", self._subnets)
        vpcs = sorted({one.pop("vpc") for one in subnets or ()})
        prices = {
            "onDemand": self._part("prices on demand", self._on_demand) or {},
            "spot": self._part("spot prices", self._spot) or {},
        }
        parts = {
            "subnets": subnets,
            "securityGroups": self._part("security groups", lambda: self._groups(vpcs)),
            "images": self._part("images", self._images),
            "capacityReservations": self._part("capacity reservations", self._reservations),
            "placementGroups": self._part("placement groups", self._placement_groups),
            "prices": {name: of for name, of in prices.items() if of},
        }
        # A part that was looked up is written even if it is empty; a part that is left out may exist.
        known = {name: part for name, part in parts.items() if part is not None}
        if known.keys() <= {"prices"} and not parts["prices"]:
            return AccountWritten(None, tuple(self._not_read))
        document = {
            "apiVersion": _API_VERSION,
            "kind": "Account",
            "metadata": {"name": "account"},
            "spec": {"region": self._aws.clients.region, **known},
        }
        return AccountWritten(document, tuple(self._not_read))

    def _part(self, name: str, read: Callable[[], Any]) -> Any:  # noqa: ANN401 (lists and mappings)
        try:
            return read()
        except PortError as error:
            self._not_read.append(f"{name}: {error}")
            return None

    def _pages(self, action: str, ask: Callable[..., Any], key: str, **asked: object) -> list[Any]:
        pages = self._aws.pages("ec2", action, partial(ask, **asked))
        return [one for page in pages for one in page[key]]

    # --- parts

    def _subnets(self) -> list[Tree]:
        """Return the subnets of the networks that node classes have subnets in; all where they have none."""
        found = self._pages("DescribeSubnets", self._ec2.describe_subnets, "Subnets", MaxResults=500)
        there = [
            {
                "id": one["SubnetId"],
                "zone": one["AvailabilityZone"],
                "cidr": one.get("CidrBlock", ""),
                "tags": _tags(one),
                "vpc": one["VpcId"],
            }
            for one in self._in_zones("subnets", found)
        ]
        terms = [term for one in self._classes for term in one.subnet_terms]
        vpcs = {one["vpc"] for one in there if any(_selects(term, one) for term in terms)}
        meant = [one for one in _sorted(there) if not vpcs or one["vpc"] in vpcs]
        if not meant:
            raise NotFoundError(f"there are none in {self._aws.clients.region} for these credentials")
        return _apart(meant)

    def _in_zones(self, name: str, found: Iterable[Tree]) -> list[Tree]:
        """Return what is in a zone of the region; what is in a Local or Wavelength Zone is noted."""
        region = self._aws.clients.region
        near, away = list[Tree](), set[str]()
        for one in found:
            zone = one.get("AvailabilityZone", "")
            if zone[:-1] == region:
                near.append(one)
            else:
                away.add(zone)
        if away:
            self._not_read.append(f"{name} outside of {region}'s own zones: {', '.join(sorted(away))}")
        return near

    def _groups(self, vpcs: list[str]) -> list[Tree]:
        filters = [{"Name": "vpc-id", "Values": vpcs}] if vpcs else []
        describe = self._ec2.describe_security_groups
        found = self._pages(
            "DescribeSecurityGroups", describe, "SecurityGroups", Filters=filters, MaxResults=500
        )
        return _sorted(
            {"id": one["GroupId"], "name": one.get("GroupName", ""), "tags": _tags(one)} for one in found
        )

    def _images(self) -> list[Tree] | None:
        """Return the images that node classes select by id, name or tags; published ones need not be told.

        None where they select none so: then it is not known which there are.
        """
        terms = [term for one in self._classes for term in one.ami_terms]
        asked = [(term, _image_query(term)) for term in terms]
        found: dict[str, Tree] = {}
        for term, query in asked:
            if query is None:
                continue
            for one in self._pages("DescribeImages", self._ec2.describe_images, "Images", **query):
                arch = _ARCHITECTURES.get(one.get("Architecture", ""))
                if arch is not None:
                    found[one["ImageId"]] = {
                        "id": one["ImageId"],
                        "architecture": arch,
                        "name": one.get("Name", ""),
                        # As the term has it: "self" and the number of the account mean the same.
                        "owner": term.owner or one.get("ImageOwnerAlias") or one.get("OwnerId", ""),
                        "tags": _tags(one),
                        "made": one.get("CreationDate", ""),
                    }
        if all(query is None for _, query in asked):
            return None
        # The newest comes last, and is the one that is launched.
        by_age = sorted(found.values(), key=lambda one: (one["made"], one["id"]))
        return [{key: value for key, value in one.items() if key != "made"} for one in by_age]

    def _reservations(self) -> list[Tree]:
        """Return the active reservations, with room for the nodes in them and for what is left."""
        describe = self._ec2.describe_capacity_reservations
        # Nodes run on shared hardware.
        wanted = {"state": "active", "tenancy": "default"}
        usable = [{"Name": name, "Values": [value]} for name, value in wanted.items()]
        found = self._pages("DescribeCapacityReservations", describe, "CapacityReservations", Filters=usable)
        used = Counter(_labels(one).get(labels.RESERVATION_ID, "") for one in self._claims)
        there = []
        for one in self._in_zones("capacity reservations", found):
            if one.get("InstancePlatform") != _LINUX:
                continue
            own, end = one["CapacityReservationId"], one.get("EndDate")
            instances = one.get("AvailableInstanceCount", 0) + used[own]
            if instances:
                there.append(
                    {
                        "id": own,
                        "instanceType": one["InstanceType"],
                        "zone": one["AvailabilityZone"],
                        "instances": instances,
                        "type": one.get("ReservationType", "default"),
                        "instanceMatchCriteria": one.get("InstanceMatchCriteria", "open"),
                        "ownerID": one.get("OwnerId", ""),
                        "interruptible": one.get("Interruptible", False),
                        **({"endTime": end.isoformat()} if end is not None else {}),
                        "tags": _tags(one),
                    }
                )
        return _sorted(there)

    def _placement_groups(self) -> list[Tree]:
        found = self._pages("DescribePlacementGroups", self._ec2.describe_placement_groups, "PlacementGroups")
        return _sorted(
            {
                "id": one["GroupId"],
                "name": one.get("GroupName", ""),
                "strategy": one.get("Strategy", "cluster"),
                "partitions": one.get("PartitionCount", 0),
            }
            for one in found
            if one.get("State") == "available"
        )

    def _on_demand(self) -> dict[str, float]:
        from treenail.adapters.ec2.discovery.prices import OnDemand  # noqa: PLC0415

        return dict(sorted(OnDemand(self._aws, self._caches()).listed().items()))

    def _spot(self) -> dict[str, dict[str, float]]:
        from treenail.adapters.ec2.discovery.prices import Spot  # noqa: PLC0415

        found: dict[str, dict[str, float]] = {}
        for (name, zone), price in sorted(Spot(self._aws, self._caches()).latest().items()):
            if zone[:-1] == self._aws.clients.region:
                found.setdefault(name, {})[zone] = price
        return found

    def _caches(self) -> Any:  # noqa: ANN401 (the module takes long to import)
        from treenail.adapters.ec2.discovery.cache import AnswerCaches  # noqa: PLC0415
        from treenail.adapters.runtime.clock import SystemClock  # noqa: PLC0415
        from treenail.adapters.runtime.dice import SystemDice  # noqa: PLC0415

        return AnswerCaches(SystemClock(), SystemDice(), lambda *_, **__: None)


def _sorted(things: Iterable[Tree]) -> list[Tree]:
    return sorted(things, key=lambda one: str(one["id"]))


def _tags(of: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in of.get("Tags", ()) if not tag["Key"].startswith("aws:")}


def _node_classes(objects: Iterable[Tree]) -> Iterator[NodeClass]:
    """Yield the node classes among objects; one that makes no sense selects nothing."""
    for one in objects:
        if one["kind"] in _NODE_CLASSES:
            with suppress(FieldError):
                found = kind_of(one["apiVersion"], one["kind"]).read(one, Reading()).objects
                yield from (own for own in found if isinstance(own, NodeClass))


def _selects(term: SelectorTerm, thing: Tree) -> bool:
    if term.id:
        return bool(term.id == thing["id"])
    tags = thing["tags"]
    wanted = (*term.tags, *((("Name", term.name),) if term.name else ()))
    return bool(wanted) and all(k in tags and v in ("*", tags[k]) for k, v in wanted)


def _apart(subnets: list[Tree]) -> list[Tree]:
    """Return subnets; one of another network that has addresses of one before is left without its own."""
    taken: list[IPv4Network] = []
    for one in subnets:
        block = IPv4Network(one["cidr"]) if one["cidr"] else None
        if block is None or any(block.overlaps(other) for other in taken):
            del one["cidr"]
        else:
            taken.append(block)
    return subnets


def _image_query(term: SelectorTerm) -> dict[str, Any] | None:
    """Return how EC2 is asked for the images of a term, None where it means published ones."""
    from treenail.adapters.ec2.discovery.asking import bearing, matching  # noqa: PLC0415

    if term.alias or term.ssm_parameter:
        return None
    named = {"image-id": term.id, "name": term.name}
    filters = [matching(name, (value,)) for name, value in named.items() if value]
    owners = [term.owner] if term.owner else [*(_TRUSTED if term.name else ())]
    return {
        "Filters": [*filters, *bearing(term.tags), matching("state", ("available",))],
        "MaxResults": 1000,
        **({"Owners": owners} if owners else {}),
    }
