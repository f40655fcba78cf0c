"""Objects that a cluster had, put into a rehearsal as they were, with the instances that they run on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.reading import LONG_AGO
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.fake.cluster import FakeCluster
from treenail.adapters.fake.ec2 import FakeEC2
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.model import labels
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG, FleetRequest, Instance, InstanceState
from treenail.domain.model.node_classes import DEFAULT_KUBELET, NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import LAUNCHED, Node, NodeClaim
from treenail.domain.model.pods import Pod
from treenail.domain.model.taints import UNREGISTERED

_OF_EC2: Final = "aws://"


def lived(thing: ApiObject) -> bool:
    """Return whether an API server has seen an object: it gave it a uid."""
    own_name = f"{thing.namespace}/{thing.name}" if isinstance(thing, Pod | DaemonSet) else ""
    return thing.uid not in ("", own_name)


def last_seen(decoded: Decoded) -> datetime | None:
    """Return when a cluster was as its objects say: as the snapshot tells, or when the last of them was made.

    None where no API server has seen any of them.
    """
    told = next((one.taken_at for one in decoded.snapshots), None)
    if told is not None:
        return told
    things: tuple[Node | NodeClaim | Pod, ...] = (*decoded.nodes, *decoded.node_claims, *decoded.pods)
    made = [thing.created_at for thing in things if lived(thing) and thing.created_at > LONG_AGO]
    return max(made, default=None)


def settle(cluster: FakeCluster, ec2: FakeEC2, decoded: Decoded) -> None:
    """Put the objects of manifests into a cluster.

    Those that an API server has seen are there as they were, and the nodes of claims run on instances of EC2
    that are there as well. The others are applied. What a claim's image was called does not matter: unless
    the claim has drifted, it is the image that its class means. What a snapshot could not read the controller
    cannot read either: in the cluster it may have been there.

    Raises:
        InvalidError: the API server would refuse one of them.
    """
    classes = {one.ref: one for one in decoded.node_classes}
    pools = {(one.generation.pool_label, one.name): one for one in decoded.node_pools}
    there: list[ApiObject] = []
    for thing in filter(lived, decoded.objects()):
        if isinstance(thing, NodeClaim) and thing.provider_id.startswith(_OF_EC2):
            pool = pools.get((thing.generation.pool_label, thing.pool))
            request = _request(thing, classes.get(thing.node_class), pool, ec2.cluster_name)
            claim = thing if thing.drift else replace(thing, image_id=ec2.estate.image_of(thing, request))
            ec2.estate.adopt(_instance(claim, request), request, claim.allocatable)
            there.append(claim)
        else:
            there.append(thing)
    cluster.restore(*there, unreadable=decoded.unreadable)
    cluster.apply(*(thing for thing in decoded.objects() if not lived(thing)))


def _request(
    claim: NodeClaim, node_class: NodeClass | None, pool: NodePool | None, cluster: str
) -> FleetRequest:
    """Return the request by which a claim's instance was bought, as far as its claim tells."""
    mark = LaunchMark.of(claim)
    token = mark.token if mark is not None else claim.name
    decided = pool.node_labels if pool is not None else {}
    own = node_class or NodeClass(ref=claim.node_class)
    return FleetRequest(
        token=token,
        node_class=own,
        capacity_type=claim.capacity_type,
        overrides=(),
        count=1,
        labels={k: v for k, v in claim.labels.items() if k in decided or k not in labels.WELL_KNOWN},
        taints=(*claim.taints, *claim.startup_taints, UNREGISTERED),
        kubelet=(pool.kubelet if pool is not None else None) or own.kubelet or DEFAULT_KUBELET,
        tags={
            **own.tags,
            CLUSTER_TAG: cluster,
            **({claim.generation.pool_label: claim.pool} if claim.pool else {}),
            LAUNCH_TAG: token,
        },
    )


def _instance(claim: NodeClaim, request: FleetRequest) -> Instance:
    return Instance(
        id=claim.instance_id,
        instance_type=claim.instance_type,
        zone=claim.zone,
        capacity_type=claim.capacity_type,
        state=InstanceState.RUNNING if claim.registered else InstanceState.PENDING,
        launched_at=claim.since(LAUNCHED),
        image_id=claim.image_id,
        price=price_of(claim) or 0.0,
        tags=request.tags,
        capacity=claim.capacity,
        allocatable=claim.allocatable,
        labels=claim.labels,
        node_name=claim.node_name,
        reservation=claim.labels.get(labels.RESERVATION_ID, ""),
    )
