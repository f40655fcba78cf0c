"""Storage in a few words, and pods that use it."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import bound_pod, pending_pod
from treenail.domain.model import labels
from treenail.domain.model.pods import Expression, Pod, PodVolume
from treenail.domain.model.requirements import Operator
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

EBS = "ebs.csi.aws.com"
IN_TREE = "kubernetes.io/aws-ebs"
FAST = StorageClass(name="fast", resource_version=1, provisioner=EBS, waits_for_pod=True)


def in_zones(*zones: str) -> tuple[Expression, ...]:
    return (Expression(labels.ZONE, Operator.IN, zones),)


def storage_claim(
    name: str = "data", *, of_class: str | None = "fast", bound_to: str = ""
) -> PersistentVolumeClaim:
    return PersistentVolumeClaim(
        name=name, resource_version=1, storage_class=of_class, volume_name=bound_to, bound=bool(bound_to)
    )


def volume(name: str = "v1", *zones: str, of: str = "data", driver: str = EBS) -> PersistentVolume:
    return PersistentVolume(
        name=name,
        resource_version=1,
        claim=f"default/{of}",
        driver=driver,
        handle=f"vol-{name}",
        node_affinity=(in_zones(*zones),) if zones else (),
    )


def csi_node(name: str, *, most: int, driver: str = EBS) -> CSINode:
    return CSINode(name=name, resource_version=1, limits={driver: most})


def using(*claims: str, uid: str = "p1", on: str = "") -> Pod:
    """A pod with these claims as its volumes, waiting or on a node."""
    pod = bound_pod(uid, on) if on else pending_pod(uid)
    volumes = tuple(PodVolume(name=f"v{n}", claim_name=claim) for n, claim in enumerate(claims))
    return replace(pod, spec=replace(pod.spec, volumes=volumes))
