"""Tags of everything that a launch makes: instances, volumes, fleets, launch templates, interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from treenail.domain.lifecycle.tagging import NAME, first_name
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.fleets import LAUNCH_TAG, FleetRequest
from treenail.domain.status import managed_profiles

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.literals import ResourceTypeType
    from types_boto3_ec2.type_defs import TagSpecificationTypeDef, TagTypeDef

NODE_CLASS_TAG: Final = managed_profiles.NODE_CLASS_TAG
# What the call was for, so that one made again after a restart can be told from another of its token.
REQUEST_TAG: Final = "treenail.sh/request"
_MOST: Final = 50
# Instances get these when their nodes have joined, if not before.
_LATER: Final = (NAME, labels.NODECLAIM)
# By any of these we know that an instance of the cluster was made by us, or by Karpenter before us.
OURS: Final = (labels.NODEPOOL, labels.PROVISIONER, LAUNCH_TAG)


def launch_tags(request: FleetRequest) -> dict[str, str]:
    """Return the tags of all that is made for one call only.

    Raises:
        InvalidError: they are more than EC2 takes.
    """
    tags = {**request.tags, NODE_CLASS_TAG: request.node_class.ref.name, REQUEST_TAG: request.digest()}
    if len({*tags, *_LATER}) > _MOST:
        raise InvalidError(
            f"TagLimitExceeded: {len(tags)} tags beside {' and '.join(_LATER)}, "
            f"of which EC2 takes {_MOST} in all"
        )
    return tags


def machine_tags(request: FleetRequest) -> dict[str, str]:
    """Return the tags of instances and volumes, which people want to have a name."""
    tags = launch_tags(request)
    name = first_name(tags)
    return {NAME: name, **tags} if name else tags


def template_tags(request: FleetRequest) -> dict[str, str]:
    """Return the tags of resources that many calls share."""
    shared = {key: value for key, value in request.tags.items() if key != LAUNCH_TAG}
    return {**shared, NODE_CLASS_TAG: request.node_class.ref.name}


def specification(resource: ResourceTypeType, tags: Mapping[str, str]) -> TagSpecificationTypeDef:
    """Return the tags of one type of resource, as EC2 takes them."""
    return {"ResourceType": resource, "Tags": written(tags)}


def written(tags: Mapping[str, str]) -> list[TagTypeDef]:
    """Return tags as EC2 writes them, sorted by key."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def read(tags: list[TagTypeDef]) -> dict[str, str]:
    """Return tags as EC2 wrote them."""
    return {tag["Key"]: tag["Value"] for tag in tags if "Key" in tag and "Value" in tag}
