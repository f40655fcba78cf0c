"""Walkthrough 001 on real parts, and what its traces must be."""

from __future__ import annotations

from typing import Any

from tests.real.system.cluster import ROOT
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene
from tests.real.system.traces import StoredSpan, orphans, spans_of, tree

INFLATE = (ROOT / "examples" / "001-inflate.yaml").read_text()


def inflate(scene: Scene) -> str:
    """The walkthrough, for the laboratory's cluster."""
    profile = str(scene.lab.estate["instance_profile"])
    return INFLATE.replace("KarpenterNodeInstanceProfile-demo", profile).replace(
        "kubernetes.io/cluster/demo", f"kubernetes.io/cluster/{scene.lab.cluster}"
    )


def up(scene: Scene) -> dict[str, Any]:
    """Apply the walkthrough, wait until its pods run, and return the only instance."""
    scene.cluster.apply(inflate(scene))
    eventually(lambda: scene.cluster.running() == 5, scene.summary, within=120)
    [instance] = scene.instances()
    return instance


def ending(scene: Scene) -> tuple[str, ...]:
    """Return the names of the spans of a node's end that a message of the queue began."""
    queue = scene.lab.estate["queue_url"].rpartition("/")[2]
    return (f"receive {queue}", f"process {queue}", "cordon", "drain", "terminate")


def stored(scene: Scene, trace_id: str, *names: str) -> list[StoredSpan]:
    """Return a trace as Jaeger has it, once it has spans of these names."""
    jaeger = scene.jaeger
    assert jaeger is not None
    spans: list[StoredSpan] = []

    def complete() -> bool:
        nonlocal spans
        spans = spans_of(jaeger.trace(trace_id))
        return set(names) <= {span.name for span in spans}

    eventually(complete, lambda: f"{trace_id} lacks some of {names}:\n{tree(spans)}", within=60)
    return spans


def decisions(scene: Scene) -> list[str]:
    """Return the trace ids of all decisions with claims, in order."""
    return [line["trace_id"] for line in scene.controller.said("decided on pods") if line["nodeclaims"]]


def expect_whole(scene: Scene, spans: list[StoredSpan]) -> None:
    """Check that a trace is one tree, and that no span at all was lost."""
    assert orphans(spans) == [], tree(spans)
    assert len({span.id for span in spans}) == len(spans), tree(spans)
    assert sum(not span.parent for span in spans) == 1, tree(spans)
    assert not scene.controller.metric("treenail_spans_dropped_total")
