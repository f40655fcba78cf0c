"""Texts of the statuses that are only written."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.schema import statuses as models
from treenail.adapters.api.schema.texts.shared import Texts

_CONDITIONS: Final = "Whether it is valid, and whether it can be used."
_SUBNETS: Final = "The subnets that the selector finds."
_GROUPS: Final = "The security groups that the selector finds."
_IMAGES: Final = "The images that the selector finds."

STATUSES: Final[Texts] = {
    models.PoolConditionModel: {"observedGeneration": "The generation of the object that it tells of."},
    models.OldConditionModel: {"severity": "How bad it is that the condition does not hold."},
    models.BufferTemplateModel: {"name": "The PodTemplate's name."},
    models.CapacityBufferStatusModel: {
        "conditions": "Whether it is known what its places are like, and whether they are there.",
        "podTemplateRef": "The PodTemplate that its places are like the pods of.",
        "podTemplateGeneration": "The generation of that PodTemplate.",
        "provisioningStrategy": "The strategy that it is served by.",
        "replicas": "How many places it asks for.",
    },
    models.NodePoolStatusModel: {
        "conditions": _CONDITIONS,
        "nodes": "How many nodes the pool has.",
        "resources": "What the pool's nodes together have.",
        "nodeClassObservedGeneration": "The generation of the node class that the conditions tell of.",
    },
    models.NodeOverlayStatusModel: {"conditions": _CONDITIONS},
    models.ProvisionerStatusModel: {
        "conditions": _CONDITIONS,
        "resources": "What the pool's nodes together have.",
        "lastScaleTime": "When a node was last bought.",
    },
    models.SubnetModel: {
        "id": "The subnet's id.",
        "zone": "The zone that it is in.",
        "zoneID": "The id of that zone, which means the same zone in every account.",
    },
    models.SecurityGroupModel: {"id": "The security group's id.", "name": "Its name."},
    models.ImageRequirementModel: {
        "key": "The label's key.",
        "operator": "How the label's value stands to the values.",
        "values": "What the label's value is compared with.",
    },
    models.ImageModel: {
        "id": "The image's id.",
        "name": "Its name.",
        "deprecated": "Whether its owner has deprecated it.",
        "requirements": "What a node must be like to start from it.",
    },
    models.CapacityReservationModel: {
        "id": "The reservation's id.",
        "availabilityZone": "The zone that it is in.",
        "instanceType": "The instance type that it is of.",
        "instanceMatchCriteria": "Which instances it takes: all that fit, or those that name it.",
        "ownerID": "The account that owns it.",
        "endTime": "When it ends.",
        "interruptible": "Whether its instances may be interrupted.",
        "reservationType": "Whether it is a capacity block.",
        "state": "Whether it is about to end.",
    },
    models.EC2NodeClassStatusModel: {
        "conditions": _CONDITIONS,
        "subnets": _SUBNETS,
        "securityGroups": _GROUPS,
        "amis": _IMAGES,
        "capacityReservations": "The capacity reservations that the selector finds.",
        "instanceProfile": "The instance profile that the role is in.",
    },
    models.KWOKNodeClassStatusModel: {"conditions": _CONDITIONS},
    models.AWSNodeTemplateStatusModel: {
        "conditions": _CONDITIONS,
        "subnets": _SUBNETS,
        "securityGroups": _GROUPS,
        "amis": _IMAGES,
    },
}
