"""Texts of the statuses that are only written."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.schema import statuses as models
from treenail.adapters.api.schema.texts.shared import Texts

_CONDITIONS: Final = "Conditions that say if it is valid, and if it can be used."
_SUBNETS: Final = "The subnets that the selector finds."
_GROUPS: Final = "The security groups that the selector finds."
_IMAGES: Final = "The images that the selector finds."

STATUSES: Final[Texts] = {
    models.PoolConditionModel: {"observedGeneration": "The generation of the object that it tells of."},
    models.OldConditionModel: {"severity": "The severity of the condition where it does not hold."},
    models.BufferTemplateModel: {"name": "The PodTemplate's name."},
    models.CapacityBufferStatusModel: {
        "conditions": "Conditions that say if its places are understood, and if they are provided.",
        "podTemplateRef": "The PodTemplate that its places are like the pods of.",
        "podTemplateGeneration": "The generation of that PodTemplate.",
        "provisioningStrategy": "The strategy that it is served by.",
        "replicas": "The number of places it asks for.",
    },
    models.NodePoolStatusModel: {
        "conditions": _CONDITIONS,
        "nodes": "The number of nodes of the pool.",
        "resources": "The resources of all nodes of the pool together.",
        "nodeClassObservedGeneration": "The generation of the node class that the conditions tell of.",
    },
    models.NodeOverlayStatusModel: {"conditions": _CONDITIONS},
    models.ProvisionerStatusModel: {
        "conditions": _CONDITIONS,
        "resources": "The resources of all nodes of the pool together.",
        "lastScaleTime": "The time at which a node was last bought.",
    },
    models.SubnetModel: {
        "id": "The subnet's id.",
        "zone": "The zone that it is in.",
        "zoneID": "The id of that zone, which means the same zone in every account.",
    },
    models.SecurityGroupModel: {"id": "The security group's id.", "name": "Its name."},
    models.ImageRequirementModel: {
        "key": "The label's key.",
        "operator": "The relation of the label's value to the values.",
        "values": "The values that the label's value is compared with.",
    },
    models.ImageModel: {
        "id": "The image's id.",
        "name": "Its name.",
        "deprecated": "True if its owner has deprecated it.",
        "requirements": "Requirements on the nodes that can start from it.",
    },
    models.CapacityReservationModel: {
        "id": "The reservation's id.",
        "availabilityZone": "The zone that it is in.",
        "instanceType": "The instance type that it is of.",
        "instanceMatchCriteria": "The instances that run in it: all that fit, or only those that name it.",
        "ownerID": "The account that owns it.",
        "endTime": "The time at which it ends.",
        "interruptible": "True if its instances may be interrupted.",
        "reservationType": "The type of the reservation: default, or capacity-block.",
        "state": "The state of the reservation: active, or expiring.",
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
