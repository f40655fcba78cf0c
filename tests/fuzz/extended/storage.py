"""Volumes of pods: claims in every state, the volumes they are bound to, and classes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from tests.fuzz.manifests import HOSTNAME, ZONE, Manifest, need
from tests.fuzz.plain import ZONES

DRIVER: Final = "ebs.csi.aws.com"
_OTHER_DRIVER: Final = "csi.example.com"
_BOUND: Final = {"pv.kubernetes.io/bind-completed": "yes"}
_GOOD: Final = ("bound", "bound", "bound", "waiting", "waiting", "zonal", "split", "in-tree")
_BAD: Final = ("missing", "immediate", "classless", "class missing", "volume missing", "not bound", "lost")


class Storage:
    """Makes claims; `manifests` are all that belongs to them."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._made: list[Manifest] = []
        self._zonal = dice.sample(ZONES, 2)
        self._split = dice.sample(ZONES, 3)

    def manifests(self) -> list[Manifest]:
        """Return the classes, and the claims and volumes made."""
        return [*self._classes(), *self._made]

    def limit(self, node: str, count: int) -> None:
        """Say how many volumes of the usual driver a node can hold."""
        driver = {"name": DRIVER, "nodeID": node, "topologyKeys": [ZONE], "allocatable": {"count": count}}
        self._made.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": node},
                "spec": {"drivers": [driver]},
            }
        )

    def kind(self) -> str:
        """Return a kind of claim: most are in order."""
        return self._dice.choice(_BAD if self._dice.random() < 0.12 else _GOOD)

    def claim(self, name: str, namespace: str, kind: str, zone: str = "") -> None:
        """Make a claim of that kind, with its volume if it has one: in `zone`, or anywhere."""
        classes = {
            "waiting": "waiting",
            "zonal": "zonal",
            "split": "split",
            "in-tree": "in-tree",
            "immediate": "immediate",
            "class missing": "nowhere",
        }
        match kind:
            case "missing":
                return
            case "bound":
                self._made.append(self._volume(f"pv-{namespace}-{name}", namespace, name, zone))
                self._claim(name, namespace, volume=f"pv-{namespace}-{name}", bound=True)
            case "not bound":
                self._made.append(self._volume(f"pv-{namespace}-{name}", namespace, name, zone))
                self._claim(name, namespace, volume=f"pv-{namespace}-{name}", bound=False)
            case "volume missing":
                self._claim(name, namespace, volume="pv-nowhere", bound=True)
            case "lost":
                self._claim(name, namespace, volume="pv-nowhere", bound=True, phase="Lost")
            case _:
                self._claim(name, namespace, storage_class=classes.get(kind, ""))

    def _claim(
        self,
        name: str,
        namespace: str,
        *,
        storage_class: str = "",
        volume: str = "",
        bound: bool = False,
        phase: str = "",
    ) -> None:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": storage_class,
        }
        metadata = {"name": name, "namespace": namespace}
        self._made.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {**metadata, "annotations": _BOUND} if bound else metadata,
                "spec": {**spec, "volumeName": volume} if volume else spec,
                "status": {"phase": phase or ("Bound" if bound else "Pending")},
            }
        )

    def _volume(self, name: str, namespace: str, claim: str, zone: str) -> Manifest:
        spec: Manifest = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": namespace, "name": claim},
        }
        drawn = self._dice.random()
        terms = [{"matchExpressions": [need(ZONE, "In", zone or self._dice.choice(ZONES))]}]
        if drawn < 0.1:
            spec["local"] = {"path": "/data"}
            terms[0]["matchExpressions"].append(need(HOSTNAME, "In", "a-node-that-went"))
        else:
            driver = _OTHER_DRIVER if drawn < 0.2 else DRIVER
            spec["csi"] = {"driver": driver, "volumeHandle": f"vol-{name}"}
        if drawn > 0.8:
            terms.append({"matchExpressions": [need(ZONE, "In", self._dice.choice(ZONES))]})
        if drawn < 0.9 or zone:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}

    def _classes(self) -> Iterator[Manifest]:
        yield _class("waiting", DRIVER)
        yield _class("zonal", DRIVER, [self._zonal])
        yield _class("split", _OTHER_DRIVER, [self._split[:1], self._split[1:]])
        yield _class("in-tree", "kubernetes.io/aws-ebs")
        yield {**_class("immediate", DRIVER), "volumeBindingMode": "Immediate"}


def _class(name: str, provisioner: str, zones: list[list[str]] | None = None) -> Manifest:
    written: Manifest = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    if zones:
        written["allowedTopologies"] = [
            {"matchLabelExpressions": [{"key": ZONE, "values": some}]} for some in zones
        ]
    return written
