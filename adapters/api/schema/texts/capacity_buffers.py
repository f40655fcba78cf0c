"""Texts of CapacityBuffer."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.autoscaling import capacity_buffer as models
from treenail.adapters.api.schema.texts.shared import Texts

CAPACITY_BUFFERS: Final[Texts] = {
    models.CapacityBufferModel: {
        "": "Places for pods that are kept free on nodes, for pods to come.",
        "spec": "The places that the buffer asks for.",
    },
    models.CapacityBufferSpecModel: {
        "provisioningStrategy": "The way places are provided. Buffers of other strategies are left alone.",
        "podTemplateRef": "The PodTemplate of the namespace that places are like the pods of.",
        "scalableRef": "The Deployment, StatefulSet or ReplicaSet that places are like the pods of.",
        "replicas": "The number of places. With a percentage as well, the larger number counts.",
        "percentage": "The number of places, in percent of the replicas of scalableRef, rounded up.",
        "limits": "A limit on what all places together request. Alone: as many places as fit into it.",
    },
    models.PodTemplateRefModel: {"name": "The PodTemplate's name."},
    models.ScalableRefModel: {
        "apiGroup": "The API group of the workload: apps, or left out.",
        "kind": "Its kind.",
        "name": "Its name.",
    },
}
