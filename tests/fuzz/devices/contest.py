"""A pod's claims on a node: whether they fit as counted here, and by the allocator of kube-scheduler."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.builders import pending_pod
from tests.domain.packing.colocated import node
from tests.fuzz.devices.scenes import NODE, Tree
from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.domain.cluster.device_counts import DeviceCount
from treenail.domain.cluster.storage_book import StorageBook
from treenail.domain.cluster.volumes import VolumeResolver
from treenail.domain.model import labels
from treenail.domain.model.pods import Pod, PodResourceClaim

_MODULE: Final = Path(__file__).parents[2] / "bench/packing/karpenter"
_SOURCE: Final = _MODULE / "allocator" / "main.go"


class NotBuiltError(Exception):
    """There is no allocator here; the message says why."""


def allocator(*, build: bool) -> Path:
    """Return the allocator's program; with `build` it is built, where it is missing.

    Raises:
        NotBuiltError: it is not there, or cannot be built.
    """
    sources = _SOURCE.read_bytes() + (_MODULE / "go.sum").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    program = cache / f"treenail/allocator-{hashlib.sha256(sources).hexdigest()[:12]}"
    if program.exists():
        return program
    go = shutil.which("go")
    if not build or go is None:
        raise NotBuiltError("the allocator is not built: `python -m tests.fuzz.devices 1` builds it, with Go")
    program.parent.mkdir(parents=True, exist_ok=True)
    half = program.with_suffix(f".{os.getpid()}")
    command = [go, "build", "-buildvcs=false", "-mod=readonly", "-o", str(half), "./allocator"]
    if subprocess.run(command, cwd=_MODULE, check=False).returncode != 0:  # noqa: S603
        raise NotBuiltError("the allocator cannot be built")
    return half.replace(program)


def allocated(program: Path, scenes: Sequence[Tree]) -> list[Tree]:
    """Return what the allocator says of each scene: `fits`, and its `error`, if any."""
    asked = "".join(json.dumps(one) + "\n" for one in scenes)
    done = subprocess.run([program], input=asked, check=True, capture_output=True, text=True)  # noqa: S603
    return [json.loads(line) for line in done.stdout.splitlines()]


def counted(scene: Tree) -> tuple[bool, str]:
    """Return whether a scene's claims fit as counted, and why they are not counted, "" where they are."""
    book = StorageBook(follows_claims=True)
    read = _read([*scene["slices"], *scene["classes"], *scene["claims"], _taker(scene["taken"])])
    for slice_ in read.resource_slices:
        book.put(slice_)
    for of in read.device_classes:
        book.put(of)
    for claim in read.resource_claims:
        book.put(claim)
    pod = _asking([one["metadata"]["name"] for one in scene["claims"]])
    book.use(pod)
    there = node(NODE, "a", cpu=9)
    there = replace(there, labels={**there.labels, labels.NODE_NAME: NODE})
    needs = VolumeResolver(book).needs([pod], counted=True)
    found = DeviceCount(book, (there,)).counted([pod], needs)
    own, free = found.needs[pod.uid], found.existing_nodes[0].free
    fits = all(free.get(kind, 0) >= count for kind, count in own.devices)
    return fits and not own.device_problem, own.device_problem


def _read(trees: Sequence[Tree]) -> Decoded:
    return decode_all(parse_manifests("\n---\n".join(map(json.dumps, trees)).encode(), "scene.yaml"))


def _taker(taken: Sequence[Sequence[str]]) -> Tree:
    """Return a claim of somebody else, that has these devices."""
    results = [{"request": "r", "driver": a, "pool": b, "device": c} for a, b, c in taken]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "other", "namespace": "default"},
        "spec": {},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": "other", "uid": "other"}],
        },
    }


def _asking(claims: Sequence[str]) -> Pod:
    pod = pending_pod("asking")
    spec = replace(pod.spec, resource_claims=tuple(PodResourceClaim(name, name) for name in claims))
    return replace(pod, namespace="default", spec=spec)
