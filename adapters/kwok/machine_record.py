"""The machine that a KWOK node plays, recorded in its annotations, and the instance made from that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from treenail.domain.model import labels
from treenail.domain.model.fleets import Instance, InstanceState
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.nodes import Node

PROVIDER: Final = "kwok"
# The machine behind a node, as bought. Labels say most of it too, but anybody may change those.
MACHINE: Final = "treenail.sh/kwok-machine"
# There once the machine is given back: its node may stay for as long as a finalizer holds it.
TERMINATED: Final = "treenail.sh/kwok-terminated"


class MachineRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A bought machine, with the token and the digest of its request. Price in US dollars per hour."""

    token: str
    digest: str
    instance_type: str
    zone: str
    capacity_type: str
    price: float
    tags: dict[str, str] = {}

    def written(self) -> str:
        """Return the record as text for an annotation."""
        return msgspec.json.encode(self, order="deterministic").decode()


_DECODER: Final = msgspec.json.Decoder(MachineRecord)


def record_of(node: Node) -> MachineRecord | None:
    """Return the record of a node's machine; None if it is not ours, or was tampered with."""
    try:
        return _DECODER.decode(node.annotations.get(MACHINE, ""))
    except msgspec.DecodeError:
        return None


def instance_of(node: Node, types: Mapping[str, InstanceType]) -> Instance | None:
    """Return the instance that a node plays; None where there is none (any more)."""
    record = record_of(node)
    if record is None or TERMINATED in node.annotations:
        return None
    return Instance(
        id=node.name,
        provider=PROVIDER,
        instance_type=record.instance_type,
        zone=record.zone,
        capacity_type=record.capacity_type,
        # KWOK plays a machine from the moment its node is there.
        state=InstanceState.RUNNING,
        launched_at=node.created_at,
        price=record.price,
        tags=record.tags,
        capacity=node.capacity,
        allocatable=node.allocatable,
        labels=machine_labels(record, types.get(record.instance_type)),
        node_name=node.name,
    )


def machine_labels(record: MachineRecord, of: InstanceType | None) -> dict[str, str]:
    """Return what is certain of a node on this machine; less where its type is known no more."""
    single = of.requirements.labels() if of else {}
    bought = {
        labels.INSTANCE_TYPE: record.instance_type,
        labels.ZONE: record.zone,
        labels.CAPACITY_TYPE: record.capacity_type,
    }
    return {**single, **bought}
