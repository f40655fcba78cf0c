"""What is kept of a test of a whole system that failed, so that a rare failure can be explained later."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from tests.real.system.checkpoint import Checkpoint
from tests.real.system.scene import Scene

_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]+")
_OF_EVERY_LINE: Final = ("level", "time", "logger", "message")


class Witness(Protocol):
    """A replica: what it said, and what it asked the API server."""

    scene: Scene
    checkpoint: Checkpoint


@runtime_checkable
class Witnessed(Protocol):
    """What a test looks at, seen by replicas, by their names, that share a cluster and an account."""

    folder: Path

    def witnesses(self) -> Mapping[str, Witness]: ...


def keep_evidence(seen: Witnessed, test: str) -> Path:
    """Keep in a new folder what the replicas said and wrote, and how things stand; return the folder.

    `machines.txt` lists every instance that was ever bought, oldest first, with all that any replica said of
    it, of its claim and of its node, from its purchase to its end.
    """
    name = _NOT_IN_NAMES.sub("_", test)
    kept = next(one for n in range(1, 1000) if not (one := seen.folder / f"evidence-{name}-{n}").exists())
    kept.mkdir(parents=True)
    witnesses = seen.witnesses()
    for replica, witness in witnesses.items():
        (kept / f"{replica}.log").write_text(witness.scene.controller.log_text())
        (kept / f"{replica}.writes").write_text("\n".join(_writes(witness.checkpoint)))
    scenes = {replica: witness.scene for replica, witness in witnesses.items()}
    scene = next(iter(scenes.values()))
    (kept / "objects.json").write_text(json.dumps(_objects(scene), indent=1))
    (kept / "machines.txt").write_text("\n".join(_machines(scene, scenes)))
    return kept


def _writes(checkpoint: Checkpoint) -> Iterator[str]:
    """Return the requests that changed something, each with its monotonic second."""
    return (f"{one.at:.3f} {one.method} {one.target}" for one in checkpoint.asked() if one.is_write)


def _objects(scene: Scene) -> dict[str, list[dict[str, Any]]]:
    cluster = scene.cluster
    return {"pods": cluster.pods(), "nodes": cluster.nodes(), "claims": cluster.claims()}


def _machines(scene: Scene, scenes: Mapping[str, Scene]) -> Iterator[str]:
    lines = [(replica, line) for replica, one in scenes.items() for line in one.controller.lines()]
    lines.sort(key=lambda said: str(said[1].get("time", "")))
    for instance in scene.every_instance():
        names = _names(instance["InstanceId"], [line for _, line in lines])
        yield f"{instance['InstanceId']}: {instance['InstanceType']}, {instance['State']['Name']}, {names}"
        for replica, line in lines:
            text = json.dumps(line)
            if any(name in text for name in names):
                yield f"  {line.get('time', '')} {replica}: {line.get('message', '')} {_fields(line)}"


def _names(instance_id: str, lines: list[dict[str, Any]]) -> list[str]:
    """Return by what names lines tell of an instance: its own, its claim's and its node's."""
    bought = [line for line in lines if str(line.get("provider_id", "")).endswith(instance_id)]
    claims = {line.get("nodeclaim") or line.get("machine", "") for line in bought}
    of_claims = (line for line in lines if {line.get("nodeclaim"), line.get("machine")} & claims)
    nodes = {line.get("node", "") for line in of_claims}
    return [instance_id, *sorted(claims - {""}), *sorted(nodes - {""})]


def _fields(line: Mapping[str, Any]) -> str:
    return json.dumps({key: value for key, value in line.items() if key not in _OF_EVERY_LINE})
