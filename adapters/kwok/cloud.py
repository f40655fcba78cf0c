"""The port `Cloud` on KWOK, whose machines are nodes that KWOK plays. It needs a cluster, and no AWS."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Final

from treenail.adapters.api.names import is_dns_label
from treenail.adapters.api.reading import LONG_AGO
from treenail.adapters.kwok.generic_types import generic_types
from treenail.adapters.kwok.machine_record import (
    MACHINE,
    PROVIDER,
    TERMINATED,
    MachineRecord,
    instance_of,
    machine_labels,
    record_of,
)
from treenail.domain.interruption.impairments import Impairments
from treenail.domain.model import labels
from treenail.domain.model.errors import AlreadyExistsError, InvalidError, NotFoundError
from treenail.domain.model.fleets import FleetAnswer, FleetError, FleetRequest, Instance
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node
from treenail.domain.model.observed_capacity import CapacityObserved
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.purposes import Purpose
from treenail.domain.ports import ClusterReader, ClusterWriter

# KWOK plays the nodes with this annotation, where it is not told to play all.
FAKE: Final = "kwok.x-k8s.io/node"
# An installation of KWOK made for Karpenter's tests shares the nodes out by this label.
_PARTITION: Final = {"kwok-partition": "a"}
# Where eks-node-viewer looks for the price of a node.
_PRICE: Final = "eks-node-viewer/instance-price"


class KwokCloud:
    """Implements the port `Cloud` on nodes: to launch is to create one, to terminate is to delete it.

    An instance is called as its node is, and its provider id is kwok:///ZONE/NODE. All that is known of it
    stands on its node, so that any process can go on. Node classes, of whichever kind, change nothing.
    """

    def __init__(
        self,
        reader: ClusterReader,
        writer: ClusterWriter,
        types: Sequence[InstanceType] | None = None,
        *,
        at_once: int = 1,
    ) -> None:
        """Sell `types`, by default those of Karpenter's KWOK provider; create so many nodes at a time."""
        self._at_once = at_once
        self._reader = reader
        self._writer = writer
        offered = generic_types() if types is None else types
        self._types = {t.name: t for t in sorted(offered, key=lambda t: t.name)}

    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        """Return all types, sorted by name."""
        del node_class, kubelet
        return tuple(self._types.values())

    def node_class_status(self, node_class: NodeClass, pools: tuple[NodePool, ...] = ()) -> NodeClassStatus:
        """Return that node classes mean nothing here."""
        del node_class, pools
        return NodeClassStatus()

    def release(self, node_class: NodeClass) -> None:
        """Do nothing: nothing was made for it."""

    def collect_profiles(self, node_classes: Collection[NodeClass]) -> tuple[str, ...]:
        """Do nothing: there are no instance profiles."""
        del node_classes
        return ()

    def learn(self, observation: CapacityObserved) -> bool:
        """Learn nothing: a node has just what its type says, as there is no machine that could have less."""
        del observation
        return False

    def launch(self, request: FleetRequest) -> FleetAnswer:
        """Create `request.count` nodes on the cheapest override; existing ones are not made again.

        Raises:
            InvalidError: the request is refused as a whole, or its token was used for another one.
            UnavailableError: no answer; perhaps some nodes were made.
            TooManyRequestsError: a rate limit. Perhaps some nodes were made.
        """
        self._check(request)
        bought = self._cheapest(request)
        if bought is None:
            return FleetAnswer(errors=_not_offered(request))
        _, type_name, zone, price = bought
        record = MachineRecord(
            token=request.token,
            digest=request.digest(),
            instance_type=type_name,
            zone=zone,
            capacity_type=request.capacity_type,
            price=price,
            tags=dict(request.tags),
        )
        names = [_name(request.token, n) for n in range(request.count)]
        # In the context of this call, to which the retries of all its requests are counted.
        calls = [partial(copy_context().run, self._make, name, record, request) for name in names]
        with ThreadPoolExecutor(self._at_once, "kwok") as pool:
            nodes = list(pool.map(lambda call: call(), calls))
        instances = self._instances([node for node in nodes if node is not None])
        return FleetAnswer(instances=instances, fleet_id=f"kwok-{request.token}")

    def launched_by(self, token: str) -> tuple[Instance, ...]:
        """Return the instances launched under `token`.

        Raises:
            UnavailableError: no answer.
        """
        there = self._reader.list_nodes()
        bought = [n for n in there if (record := record_of(n)) is not None and record.token == token]
        return self._instances(bought)

    def instances(self) -> tuple[Instance, ...]:
        """Return all instances, terminated ones left out.

        Raises:
            UnavailableError: no answer.
        """
        return self._instances(self._reader.list_nodes())

    def impairments(self) -> Impairments:
        """Return none: nodes without machines are never unwell."""
        return Impairments()

    def terminate(self, ids: tuple[str, ...], *, purpose: Purpose = Purpose.DISRUPTION) -> None:
        """Delete the nodes of instances. One that a finalizer holds stays, but is no instance any more.

        Raises:
            UnavailableError: no answer; perhaps it was done.
            TooManyRequestsError: a rate limit. Perhaps some were terminated.
        """
        del purpose  # KWOK limits nothing
        for name in ids:
            # Whoever finds the node gone finds the machine gone.
            with suppress(NotFoundError):
                node = self._writer.patch_node(name, NodePatch(annotations={TERMINATED: "true"}))
                self._writer.delete_node(name, uid=node.uid)

    def tag(self, instance_id: str, tags: Mapping[str, str]) -> None:
        """Do nothing: an instance is its node, which says all of itself."""

    def _instances(self, nodes: Sequence[Node]) -> tuple[Instance, ...]:
        found = (instance_of(node, self._types) for node in sorted(nodes, key=lambda n: n.name))
        return tuple(i for i in found if i is not None)

    def _check(self, request: FleetRequest) -> None:
        if request.count < 1:
            raise InvalidError(f"{request.count} instances cannot be launched")
        if not request.overrides:
            raise InvalidError("there are no overrides to choose from")
        if not request.token or not is_dns_label(_name(request.token, request.count)):
            raise InvalidError(f"nodes cannot be called after the token {request.token!r}")
        unknown = sorted({o.instance_type for o in request.overrides} - self._types.keys())
        if unknown:
            raise InvalidError(f"there are no instance types {', '.join(unknown)}")

    def _cheapest(self, request: FleetRequest) -> tuple[float, str, str, float] | None:
        """Return (rank, type, zone, price) of the cheapest override that is on offer."""
        return min(
            (
                (o.price if request.ranked else offering.price, o.instance_type, o.zone, offering.price)
                for o in request.overrides
                for offering in self._types[o.instance_type].offerings
                if _sells(offering, o.zone, request.capacity_type)
            ),
            default=None,
        )

    def _make(self, name: str, record: MachineRecord, request: FleetRequest) -> Node | None:
        try:
            return self._writer.create_node(self._node(name, record, request))
        except AlreadyExistsError:
            return self._made_before(name, record)

    def _made_before(self, name: str, record: MachineRecord) -> Node | None:
        node = next((n for n in self._reader.list_nodes() if n.name == name), None)
        if node is None:  # It went this very moment.
            return None
        there = record_of(node)
        if there is None or there.digest != record.digest:
            raise InvalidError(f"the token {record.token} was used for another request")
        return node

    def _node(self, name: str, record: MachineRecord, request: FleetRequest) -> Node:
        of = self._types[record.instance_type]
        return Node(
            name=name,
            labels={
                **request.labels,
                **machine_labels(record, of),
                **_PARTITION,
                labels.HOSTNAME: name,
                FAKE: "fake",
                _PRICE: f"{record.price:f}",
            },
            annotations={FAKE: "fake", MACHINE: record.written()},
            taints=request.taints,
            provider_id=f"{PROVIDER}:///{record.zone}/{name}",
            capacity=of.capacity,
            allocatable=of.allocatable,
            created_at=LONG_AGO,
        )


def _name(token: str, index: int) -> str:
    # Instances are dealt in the order of their ids.
    return f"kwok-{token}-{index:04d}"


def _sells(offering: Offering, zone: str, capacity_type: str) -> bool:
    return offering.available and (offering.zone, offering.capacity_type) == (zone, capacity_type)


def _not_offered(request: FleetRequest) -> tuple[FleetError, ...]:
    why = f"is not offered as {request.capacity_type}"
    return tuple(
        FleetError("UnfulfillableCapacity", f"{o.instance_type} in {o.zone} {why}", o.instance_type, o.zone)
        for o in sorted(request.overrides)
    )
