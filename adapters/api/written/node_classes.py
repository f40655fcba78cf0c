"""The status of a node class, as a manifest."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.written.parts import Tree, said, time
from treenail.domain.model.capacity_reservations import CapacityReservation
from treenail.domain.model.node_class_status import ImageMeant, NodeClassMeaning
from treenail.domain.model.requirements import Requirement

# The kinds whose status says it, and whether they know instance profiles made from roles.
_SAYING: Final = {"EC2NodeClass": True, "AWSNodeTemplate": False}


def written_meaning(kind: str, meaning: NodeClassMeaning) -> Tree:
    """Return the fields of the status of a node class of `kind`; none where its status has none."""
    if kind not in _SAYING:
        return {}
    fields: Tree = {
        "subnets": [said(id=one.id, zone=one.zone, zoneID=one.zone_id) for one in meaning.subnets],
        "securityGroups": [said(id=one.id, name=one.name) for one in meaning.security_groups],
        "amis": [_image(one) for one in meaning.images],
    }
    if _SAYING[kind]:
        fields["instanceProfile"] = meaning.instance_profile
        fields["capacityReservations"] = [_reservation(one) for one in meaning.reservations]
    return fields


def _image(image: ImageMeant) -> Tree:
    written = said(id=image.id, name=image.name, deprecated=image.deprecated)
    return {**written, "requirements": [_requirement(one) for one in image.requirements]}


def _reservation(found: CapacityReservation) -> Tree:
    own = found.reservation
    return said(
        id=own.id,
        availabilityZone=found.zone,
        instanceType=found.instance_type,
        instanceMatchCriteria=found.match_criteria.value,
        ownerID=found.owner_id,
        endTime=time(found.ends_at),
        interruptible=own.interruptible,
        reservationType=own.kind,
        state="expiring" if found.expiring else "active",
    )


def _requirement(requirement: Requirement) -> Tree:
    return said(key=requirement.key, operator=requirement.operator.value, values=sorted(requirement.values))
