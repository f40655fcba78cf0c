"""The inventory: all objects the API server has told of, nodes joined with claims, pods with nodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from treenail.domain.cluster.cluster_facts import (
    WORKLOADS,
    ClusterObject,
    DaemonSet,
    Kind,
    ObjectSetAside,
    key_of,
    kind_of,
)
from treenail.domain.cluster.emptiness import moved
from treenail.domain.cluster.node_pods import NodePods
from treenail.domain.cluster.node_rivals import holder_of, one_of_several, owned_by
from treenail.domain.cluster.storage_book import StorageBook
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.capacity_buffers import CapacityBuffer
from treenail.domain.model.left_alone import LeftAlone, left_alone
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.node_overlays import NodeOverlay, heaviest_overlays_first
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim, NodeView
from treenail.domain.model.pod_budgets import PodBudgets
from treenail.domain.model.pod_templates import StoredPodTemplate
from treenail.domain.model.pods import Pod
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.model.stand_alone_claims import own_pool

_MOST_ENDED: Final = 256


class Inventory:
    """The objects there are, by kind, and the ways from one to another. It decides nothing.

    A node and the claim of its provider id are one view, called after the claim; a node nobody claimed is
    one of its own. Of several nodes with the provider id of a claim one is its node, and the others are
    told beside it; of several claims with one provider id one has the machine, and the others have none.
    Without `static_capacity` nobody has a say in the nodes of static pools here, and without
    `resource_claims` claims on devices say nothing about nodes.
    """

    def __init__(self, *, static_capacity: bool = False, resource_claims: bool = False) -> None:
        self.static_capacity = static_capacity
        self.pods: dict[str, Pod] = {}
        # The uids of those that wait for a node, in the order they began to.
        self.provisionable: dict[str, None] = {}
        self.nodes: dict[str, Node] = {}
        self.claims: dict[str, NodeClaim] = {}
        self.pools: dict[str, NodePool] = {}
        self.node_classes: dict[str, NodeClass] = {}
        self.overlays: dict[str, NodeOverlay] = {}
        self.daemons: dict[str, DaemonSet] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.quotas: dict[str, ResourceQuota] = {}
        self.workloads: dict[Kind, dict[str, Workload]] = {kind: {} for kind in WORKLOADS}
        self.deployments: dict[str, Workload] = {}
        self.capacity_buffers: dict[str, CapacityBuffer] = {}
        self.pod_templates: dict[str, StoredPodTemplate] = {}
        # Objects that could not be understood, as they were last reported.
        self.aside: dict[tuple[Kind, str], ObjectSetAside] = {}
        self.storage = StorageBook(self.aside, follows_claims=resource_claims)
        self.pod_budgets = PodBudgets()
        self._pods_on = NodePods()
        self._claims_of_provider: dict[str, dict[str, None]] = {}
        self._nodes_of_provider: dict[str, dict[str, None]] = {}
        self._provider_of_instance: dict[str, str] = {}
        # All views in order, until a claim or a node changes: many look at all of them at one revision.
        self._views: tuple[NodeView, ...] | None = None
        self._stores = self._by_kind()
        # Nodes that pods came to or left since `take_moved` was called.
        self._moved: dict[str, None] = {}
        # The uids of claims that are gone, the latest of them: an answer to a write may come after the end.
        self._ended: deque[str] = deque(maxlen=_MOST_ENDED)

    def _by_kind(self) -> Mapping[Kind, Mapping[str, ClusterObject]]:
        """Return where objects of each kind are kept: the same mappings for life."""
        return {
            Kind.POD: self.pods,
            Kind.NODE: self.nodes,
            Kind.NODE_CLAIM: self.claims,
            Kind.NODE_POOL: self.pools,
            Kind.NODE_CLASS: self.node_classes,
            Kind.NODE_OVERLAY: self.overlays,
            Kind.DAEMON_SET: self.daemons,
            Kind.NAMESPACE: self.namespaces,
            Kind.RESOURCE_QUOTA: self.quotas,
            Kind.PERSISTENT_VOLUME_CLAIM: self.storage.claims,
            Kind.PERSISTENT_VOLUME: self.storage.volumes,
            Kind.STORAGE_CLASS: self.storage.classes,
            Kind.CSI_NODE: self.storage.csi_nodes,
            Kind.POD_DISRUPTION_BUDGET: self.pod_budgets.all,
            **self.workloads,
            Kind.DEPLOYMENT: self.deployments,
            Kind.CAPACITY_BUFFER: self.capacity_buffers,
            Kind.POD_TEMPLATE: self.pod_templates,
            Kind.RESOURCE_CLAIM: self.storage.resource_claims,
            Kind.DEVICE_CLASS: self.storage.devices.classes,
            Kind.RESOURCE_CLAIM_TEMPLATE: self.storage.devices.templates,
            Kind.RESOURCE_SLICE: self.storage.devices.slices,
            Kind.DEVICE_TAINT_RULE: self.storage.devices.rules,
        }

    # --- changing it

    def known(self, thing: ClusterObject) -> ClusterObject | None:
        """Return the object that is kept under the name of `thing`, as it was last seen."""
        return self.store(kind_of(thing)).get(key_of(thing))

    def store(self, kind: Kind) -> Mapping[str, ClusterObject]:
        """Return the objects of a kind, by what `key_of` gives."""
        return self._stores[kind]

    def put_by_name(self, thing: CapacityBuffer | StoredPodTemplate) -> None:
        """Keep the present state of an object that nothing else hangs on."""
        if isinstance(thing, CapacityBuffer):
            self.capacity_buffers[thing.key] = thing
        else:
            self.pod_templates[thing.key] = thing

    def drop(self, kind: Kind, key: str) -> None:
        """Forget an object that nothing else hangs on: one of these kinds."""
        stores: dict[Kind, dict[str, Any]] = {
            Kind.NAMESPACE: self.namespaces,
            Kind.DEPLOYMENT: self.deployments,
            Kind.CAPACITY_BUFFER: self.capacity_buffers,
            Kind.POD_TEMPLATE: self.pod_templates,
        }
        stores[kind].pop(key, None)

    def ended(self, thing: ClusterObject) -> bool:
        """Return whether `thing` is a claim that is known to be gone, so that what tells of it is old."""
        return isinstance(thing, NodeClaim) and bool(thing.uid) and thing.uid in self._ended

    def put_pod(self, pod: Pod) -> tuple[str, ...]:
        """Keep the present state of a pod; return the nodes whose room it changes."""
        before = self.pods.get(pod.uid)
        self._note_move(before, pod)
        self.pods[pod.uid] = pod
        if pod.provisionable:
            self.provisionable[pod.uid] = None
        else:
            self.provisionable.pop(pod.uid, None)
        self.storage.use(pod)
        touched: list[str] = []
        if before is not None and before.bound and (before.node_name != pod.node_name or not pod.bound):
            self._pods_on.remove(before)
            touched.append(before.node_name)
        if pod.bound:
            self._pods_on.put(pod)
            touched.append(pod.node_name)
        return tuple(touched)

    def put_pool(self, pool: NodePool) -> NodePool:
        """Keep the present state of a pool, with the overlays that it buys by, and return it so."""
        there = self.pools[pool.name] = replace(
            pool, overlays=heaviest_overlays_first(self.overlays.values())
        )
        return there

    def put_overlay(self, overlay: NodeOverlay) -> None:
        """Keep the present state of a node overlay: every pool buys by it."""
        self.overlays[overlay.name] = overlay
        self._overlay_pools()

    def remove_overlay(self, name: str) -> NodeOverlay | None:
        """Forget a node overlay and return it as it was last seen."""
        overlay = self.overlays.pop(name, None)
        self._overlay_pools()
        return overlay

    def _overlay_pools(self) -> None:
        for pool in tuple(self.pools.values()):
            self.put_pool(pool)

    def remove_pod(self, uid: str) -> Pod | None:
        """Forget a pod and return it as it was last seen."""
        pod = self.pods.pop(uid, None)
        self.provisionable.pop(uid, None)
        if pod is not None:
            self._note_move(pod, None)
            self.storage.leave(pod)
            if pod.bound:
                self._pods_on.remove(pod)
        return pod

    def _note_move(self, before: Pod | None, after: Pod | None) -> None:
        if moved(before, after):
            nodes = (pod.node_name for pod in (before, after) if pod is not None and pod.node_name)
            self._moved.update(dict.fromkeys(nodes))

    def take_moved(self) -> frozenset[str]:
        """Return the views to which pods came, or that they left, since this was last asked."""
        moved_at, self._moved = self._moved, {}
        return frozenset(map(self.view_name, moved_at))

    def put_node(self, node: Node) -> None:
        """Keep the present state of a node. The same name on another machine is another node."""
        before = self.nodes.get(node.name)
        if before is not None and before.provider_id != node.provider_id:
            self.remove_node(node.name)
        self.nodes[node.name] = node
        self._views = None
        if node.provider_id:
            self._nodes_of_provider.setdefault(node.provider_id, {})[node.name] = None

    def remove_node(self, name: str) -> Node | None:
        """Forget a node and return it as it was last seen."""
        node = self.nodes.pop(name, None)
        self._views = None
        if node is not None and node.provider_id:
            left = self._nodes_of_provider[node.provider_id]
            del left[name]
            if not left:
                del self._nodes_of_provider[node.provider_id]
        return node

    def put_claim(self, claim: NodeClaim) -> tuple[str, ...]:
        """Keep the present state of a claim; return the nodes that had no claim and are this claim's.

        An API server that was restored from a backup may tell of a claim as it was before its launch.
        """
        before = self.claims.get(claim.name)
        if before is not None and before.provider_id != claim.provider_id:
            self._forsake(before)
        self.claims[claim.name] = claim
        self._views = None
        if not claim.provider_id:
            return ()
        there = self._claims_of_provider.setdefault(claim.provider_id, {})
        first = not there
        there[claim.name] = None
        self._provider_of_instance[claim.instance_id] = claim.provider_id
        return self._nodes_named(claim.provider_id) if first else ()

    def remove_claim(self, name: str) -> tuple[NodeClaim | None, tuple[str, ...]]:
        """Forget a claim; return it as it was last seen, and the nodes it leaves to themselves."""
        claim = self.claims.pop(name, None)
        self._views = None
        if claim is None:
            return None, ()
        if claim.uid:
            self._ended.append(claim.uid)
        return claim, self._forsake(claim)

    def _forsake(self, claim: NodeClaim) -> tuple[str, ...]:
        """Take a claim off its machine; return the nodes that it leaves to themselves."""
        there = self._claims_of_provider.get(claim.provider_id, {})
        there.pop(claim.name, None)
        if there or not claim.provider_id:
            return ()
        self._claims_of_provider.pop(claim.provider_id, None)
        self._provider_of_instance.pop(claim.instance_id, None)
        return self._nodes_named(claim.provider_id)

    # --- asking it

    def workload(self, uid: str) -> Workload | None:
        """Return the workload with a uid, if it is there and all of it was understood."""
        for kind, known in self.workloads.items():
            if uid in known:
                return known[uid] if (kind, uid) not in self.aside else None
        return None

    def view_name(self, node: str) -> str:
        """Return the name of the view that the node called `node` belongs to."""
        known = self.nodes.get(node)
        if known is None or not known.provider_id:
            return node
        return self._holder(known.provider_id) or node

    def claim_of_instance(self, instance_id: str) -> str | None:
        """Return the name of the claim that an EC2 instance is of, None where it is of none we know."""
        return self._holder(self._provider_of_instance.get(instance_id, "")) or None

    def named(self, provider_id: str) -> tuple[str, ...]:
        """Return the names of the views of a machine: those of its claims, or else those of its nodes."""
        return self.claimants(provider_id) or self._nodes_named(provider_id)

    def claimants(self, provider_id: str) -> tuple[str, ...]:
        """Return the names of all claims to a machine, the one that has it first, the others sorted."""
        there = self._claims_of_provider.get(provider_id, {}) if provider_id else {}
        holder = self._holder(provider_id)
        return (holder, *sorted(name for name in there if name != holder)) if holder else ()

    def _holder(self, provider_id: str) -> str:
        """Return the name of the claim that has a machine; "" if there is none."""
        there = self._claims_of_provider.get(provider_id)
        if not there:
            return ""
        if len(there) == 1:
            return next(iter(there))
        nodes = [self.nodes[one] for one in self._nodes_named(provider_id)]
        return holder_of([self.claims[one] for one in there], nodes).name

    def view(self, name: str) -> NodeView | None:
        """Return the claim of this name with its node, or the node without claim; None if neither exists."""
        claim = self.claims.get(name)
        if claim is None:
            node = self.nodes.get(name)
            return None if node is None or self.view_name(name) != name else NodeView(node=node)
        if not claim.provider_id:
            return NodeView(claim=claim)
        if len(self._claims_of_provider[claim.provider_id]) == 1:
            return self._with_node(claim)
        holder, *others = self.claimants(claim.provider_id)
        if holder == name:
            return replace(self._with_node(claim), claimants=tuple(others))
        node = self._with_node(self.claims[holder]).node
        kept = node is not None and owned_by(node, claim) and not owned_by(node, self.claims[holder])
        return NodeView(
            claim=claim,
            claimants=tuple(sorted({holder, *others} - {name})),
            holder=holder,
            kept_node=node.name if node is not None and kept else "",
        )

    def _with_node(self, claim: NodeClaim) -> NodeView:
        there = self._nodes_of_provider.get(claim.provider_id)
        if there is None:
            return NodeView(claim=claim)
        if len(there) == 1:
            return self._with_drivers(NodeView(claim=claim, node=self.nodes[next(iter(there))]))
        return self._with_drivers(one_of_several(claim, tuple(self.nodes[one] for one in there)))

    def _with_drivers(self, view: NodeView) -> NodeView:
        """Return a view with the drivers of devices it lacks, where claims on devices are followed."""
        if view.claim is None or not self.storage.follows_claims or view.claim.initialized:
            return view
        asked = view.claim.drivers
        if not asked:
            return view
        there = self.storage.devices.drivers_of(view.node_name)
        return replace(view, lacking_drivers=tuple(name for name in asked if name not in there))

    def _nodes_named(self, provider_id: str) -> tuple[str, ...]:
        """Return the names of the nodes with a provider id, sorted."""
        return tuple(sorted(self._nodes_of_provider.get(provider_id, ()))) if provider_id else ()

    def devices_changed(self) -> None:
        """Note that nodes have other devices than before."""
        self._views = None

    def views(self) -> tuple[NodeView, ...]:
        """Return every view, those of claims first, each by name."""
        if self._views is None:
            self._views = tuple(self._all_views())
        return self._views

    def _all_views(self) -> Iterable[NodeView]:
        names = sorted(self.claims)
        names += sorted(n for n in self.nodes if self.view_name(n) == n and n not in self.claims)
        return (view for name in names if (view := self.view(name)) is not None)

    def pods_on(self, name: str) -> tuple[Pod, ...]:
        """Return the pods that hold room on the node of a view, by uid."""
        view = self.view(name)
        return () if view is None else self.pods_of(view)

    def pods_of(self, view: NodeView) -> tuple[Pod, ...]:
        """Return the pods that hold room on the node of `view`, by uid."""
        return self._pods_on.on(view.node_name)

    def requests_on(self, name: str) -> Resources:
        """Return what the pods that hold room on the node of a view request together."""
        view = self.view(name)
        return NOTHING if view is None else self._pods_on.requests_on(view.node_name)

    def ready(self, name: str) -> bool:
        """Return whether pods that are sent to a view can start there."""
        view = self.view(name)
        return view is not None and view.initialized

    def node_class(self, ref: NodeClassRef) -> NodeClass | None:
        """Return the node class `ref` names, if it is there."""
        return self.node_classes.get(str(ref))

    def launches_from(self, view: NodeView) -> tuple[NodePool | None, NodeClass | None]:
        """Return the pool and node class of a claim that waits for its launch; None where it does not."""
        claim = view.claim
        if claim is None or claim.launched or view.leaving or view.unread:
            return None, None
        pool = own_pool(claim) if claim.stands_alone else self.pools.get(claim.pool)
        if pool is not None and pool.static and not self.static_capacity:
            return None, None
        return pool, self.node_class(claim.node_class)

    def left_alone(self, view: NodeView) -> LeftAlone | None:
        """Return why a node is left alone; None if it is not, or has no claim."""
        claim = view.claim
        if claim is None:
            return None
        return left_alone(claim, self.pools.get(claim.pool), static_capacity=self.static_capacity)
