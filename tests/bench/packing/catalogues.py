"""The instance types that are packed against, as files in the JSON of Karpenter's KWOK provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from tests.bench.packing.peer import kwok_catalogue
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import DEFAULT_KUBELET, AmiFamily, NodeClass, NodeClassRef
from treenail.domain.model.resources import Resources

FAKE_TYPES: Final = 400
_SPOT_ZONES: Final = ("test-zone-1", "test-zone-2")
_ON_DEMAND_ZONES: Final = (*_SPOT_ZONES, "test-zone-3")
_OF_EC2: Final = NodeClass(
    ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"), ami_family=AmiFamily.AL2023
)


def catalogue(name: str, folder: Path) -> Path:
    """Return the file of a catalogue; one that is made up is written into `folder`.

    Raises:
        KeyError: there is no such catalogue.
        PeerNotBuiltError: it comes with the peer, and that is not built.
    """
    return {**CATALOGUES, **REAL}[name](folder)


def relaxation(types: int) -> list[dict[str, Any]]:
    """Return made-up types as in Karpenter's own benchmark: number i has i CPUs, 2i GiB and takes 10i pods.

    Price follows size exactly, and spot costs what on demand does.
    """
    return [_step(number) for number in range(1, types + 1)]


def _step(size: int) -> dict[str, Any]:
    price = 0.1 * size + 0.1 * (2 * size * 2**30) / 1e9
    resources = {
        "cpu": str(size),
        "memory": f"{2 * size}Gi",
        "pods": str(10 * size),
        "ephemeral-storage": "100Gi",
    }
    spot = [_offering("spot", zone, price) for zone in _SPOT_ZONES]
    on_demand = [_offering("on-demand", zone, price) for zone in _ON_DEMAND_ZONES]
    return {
        "name": f"fake-it-{size - 1}",
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": resources,
        "offerings": [*spot, *on_demand],
    }


def _offering(capacity_type: str, zone: str, price: float) -> dict[str, Any]:
    said = {"karpenter.sh/capacity-type": capacity_type, "topology.kubernetes.io/zone": zone}
    requirements = [{"key": key, "operator": "In", "values": [value]} for key, value in said.items()]
    return {"Price": price, "Available": True, "Requirements": requirements}


def _fake400(folder: Path) -> Path:
    path = folder / "fake400.json"
    path.write_text(json.dumps(relaxation(FAKE_TYPES)))
    return path


def _kwok(folder: Path) -> Path:
    del folder
    return kwok_catalogue()


def _ec2(folder: Path) -> Path:
    """The types of EC2 that pods get who ask for nothing special, at their prices in us-east-1."""
    made = Catalogue.shipped().instance_types(_OF_EC2, DEFAULT_KUBELET)
    path = folder / "ec2.json"
    path.write_text(json.dumps([_written(one) for one in made if not one.exotic and _sold(one)]))
    return path


def _sold(one: InstanceType) -> bool:
    return any(offering.available for offering in one.offerings)


def _written(one: InstanceType) -> dict[str, Any]:
    # The provider keeps so much of every type.
    existing_node = one.allocatable.plus(Resources.parse({"cpu": "100m", "memory": "10Mi"}))
    return {
        "name": one.name,
        "architecture": one.label(labels.ARCH),
        "operatingSystems": ["linux"],
        "resources": existing_node.format(),
        "offerings": [_offering(o.capacity_type, o.zone, o.price) for o in one.offerings if o.available],
    }


CATALOGUES: Final[Mapping[str, Callable[[Path], Path]]] = {"fake400": _fake400, "kwok": _kwok}
# At real prices, of which none follows size exactly.
REAL: Final[Mapping[str, Callable[[Path], Path]]] = {"ec2": _ec2}
