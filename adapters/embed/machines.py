"""The link from the fake EC2 to the fake cluster: an instance that runs becomes a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from treenail.adapters.api.diagnosis import meant
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.embed.history import Known
from treenail.adapters.fake.cluster import FakeCluster
from treenail.adapters.fake.cluster.objects import Change
from treenail.adapters.fake.ec2 import FakeEC2
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.launch.instance_overlay import instance_overlay
from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetRequest, Instance
from treenail.domain.model.node_overlays import NodeOverlay
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.termination.drain import InstanceTerminated

_MOST_NAMED: Final = 10


class NodeMachines:
    """The instances of the fake EC2 as the nodes of the fake cluster."""

    def __init__(self, cluster: FakeCluster, ec2: FakeEC2) -> None:
        self._cluster = cluster
        self._ec2 = ec2
        self.known: dict[str, Known] = {}
        cluster.on_change(self._note)
        ec2.on_running(self._boot)
        ec2.on_gone(lambda instance: cluster.leave(instance.provider_id))

    def _boot(self, instance: Instance, request: FleetRequest) -> None:
        boot = self._ec2.boot_seconds(instance)
        if boot is None:
            return
        name = self._ec2.node_name(instance)
        capacity, allocatable = self._ec2.node_size(instance)
        added = self._offered_by_plugins(instance, request)
        self._cluster.join(
            node_name=name,
            provider_id=instance.provider_id,
            labels={
                **request.labels,
                **instance.labels,
                labels.HOSTNAME: name,
                labels.INSTANCE_TYPE: instance.instance_type,
                labels.ZONE: instance.zone,
            },
            taints=request.taints,
            capacity=Resources({**capacity, **added}),
            allocatable=Resources({**allocatable, **added}),
            after=boot,
        )

    def _offered_by_plugins(self, instance: Instance, request: FleetRequest) -> Resources:
        """Return what device plugins offer on a node: what overlays say, if there are plugins for that."""
        overlays = self._cluster.objects(NodeOverlay)
        pools = self._cluster.objects(NodePool)
        pool = next((p for p in pools if request.labels.get(p.generation.pool_label) == p.name), None)
        if not overlays or pool is None or not self._cluster.settings.device_plugins:
            return NOTHING
        types = self._ec2.sold(request.node_class, request.kubelet)
        return instance_overlay(instance, types, replace(pool, overlays=overlays)).added

    def _note(self, change: Change) -> None:
        match change.after:
            case Node(name=name, provider_id=provider_id) if provider_id:
                self._know(provider_id, node=name)
            case NodeClaim(name=name, provider_id=provider_id) if provider_id:
                self._know(provider_id, claim=name)
            case _:
                pass

    def _know(self, provider_id: str, *, node: str = "", claim: str = "") -> None:
        instance_id = provider_id.rpartition("/")[2]
        known = self.known.get(instance_id, Known())
        self.known[instance_id] = replace(known, node=node or known.node, claim=claim or known.claim)

    def ended(self, event: InstanceTerminated) -> None:
        """Note why an instance ended, as the controller says."""
        known = self.known.get(event.claim.instance_id, Known())
        self.known[event.claim.instance_id] = replace(known, cause=event.cause.value)

    def find(
        self, node: str | None, *, spot: bool, but: Callable[[str], bool] = lambda _: False
    ) -> tuple[str, str]:
        """Return (node, instance id) of a living node by its name, or of the oldest there is.

        Instances of which `but` holds are being interrupted, and left out.

        Raises:
            ValueError: there is none.
        """
        wanted = "spot node" if spot else "node"
        there: list[str] = []
        warned = 0
        for record in self._ec2.all_instances():
            instance = record.instance
            known = self.known.get(instance.id, Known())
            named = node in (known.node, known.claim, instance.id) if node is not None else bool(known.node)
            alive = instance.live and (not spot or instance.capacity_type == labels.SPOT)
            there += [known.node] if alive and known.node else []
            if named and alive and but(instance.id):
                if node is not None:
                    raise ValueError(f"{known.node or node} is being interrupted already")
                warned += 1
            elif named and alive:
                return known.node or known.claim or instance.id, instance.id
        if node is None:
            left = f" that is not being interrupted already ({warned} are)" if warned else ""
            raise ValueError(f"there is no {wanted} now{left}")
        more = " ..." if len(there) > _MOST_NAMED else ""
        known_here = f": there are {', '.join(there[:_MOST_NAMED]) or 'none'}{more}"
        raise ValueError(f"there is no {wanted} {node}{meant(node, there) or known_here}")

    def apply_broken(self, error: ManifestError) -> bool:
        """Put an object there that cannot be understood, as a cluster that does not validate would.

        Return False where it has no name, or is of a kind that no controller watches here.
        """
        about = error.about
        kind = None if about is None else _KINDS.get(about.kind)
        if about is None or kind is None:
            return False
        problem = f"{error.field}: {error.problem}" if error.field else error.problem
        # Clients know a DeviceTaintRule by its version, too.
        key = f"{error.api_version}/{about.name}" if kind is Kind.DEVICE_TAINT_RULE else ""
        self._cluster.apply_broken(kind, about.name, about, problem, key=key)
        return True


_KINDS = {
    "Pod": Kind.POD,
    "Node": Kind.NODE,
    "NodeClaim": Kind.NODE_CLAIM,
    "Machine": Kind.NODE_CLAIM,
    "NodePool": Kind.NODE_POOL,
    "Provisioner": Kind.NODE_POOL,
    "EC2NodeClass": Kind.NODE_CLASS,
    "AWSNodeTemplate": Kind.NODE_CLASS,
    "DaemonSet": Kind.DAEMON_SET,
    "NodeOverlay": Kind.NODE_OVERLAY,
    "ResourceClaim": Kind.RESOURCE_CLAIM,
    "ResourceClaimTemplate": Kind.RESOURCE_CLAIM_TEMPLATE,
    "ResourceSlice": Kind.RESOURCE_SLICE,
    "DeviceClass": Kind.DEVICE_CLASS,
    "DeviceTaintRule": Kind.DEVICE_TAINT_RULE,
}
