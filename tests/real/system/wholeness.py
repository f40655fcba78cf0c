"""What must hold of any cluster whose controller was killed: all that is there belongs together."""

from __future__ import annotations

from typing import Any

from tests.real.parts.objects import says
from tests.real.system.controller import eventually
from tests.real.system.scene import SERVICE, Scene
from tests.real.system.traces import orphans, spans_of, tree


def is_whole(scene: Scene, machines: int) -> bool:
    """Return whether there are so many claims, nodes and instances, one of each for each other, in use."""
    claims, nodes, instances = scene.cluster.claims(), scene.cluster.nodes(), scene.instances()
    ids = {_instance_id(claim.get("status", {}).get("providerID", "")) for claim in claims}
    return (
        ids == {_instance_id(node["spec"].get("providerID", "")) for node in nodes}
        and ids == {i["InstanceId"] for i in instances}
        and len(ids) == len(claims) == len(nodes) == machines
        and all(_initialized(claim) for claim in claims)
    )


def is_marked(node: dict[str, Any]) -> bool:
    """Return whether a node bears a mark of leaving."""
    taints = {taint["key"] for taint in node["spec"].get("taints", ())}
    balanced = "node.kubernetes.io/exclude-from-external-load-balancers" not in node["metadata"]["labels"]
    return bool(node["spec"].get("unschedulable")) or "karpenter.sh/disrupted" in taints or not balanced


def _instance_id(provider_id: str) -> str:
    return provider_id.rpartition("/")[2]


def _initialized(claim: dict[str, Any]) -> bool:
    """Return whether a claim says so, in its generation's words."""
    return says(claim, "Initialized", "MachineInitialized")


def expect_parents_of_all_spans(scene: Scene, *, since: float) -> None:
    """Wait until no span stored since (Unix time) names a parent that is not there.

    Every claim's decision must be there too.
    """
    eventually(
        lambda: not _incomplete(scene, since), lambda: "\n\n".join(_incomplete(scene, since)), within=15
    )


def _incomplete(scene: Scene, since: float) -> list[str]:
    """Return the traces that lack something, as trees."""
    jaeger = scene.jaeger
    assert jaeger is not None
    traces = [spans_of(trace) for trace in jaeger.find(service=SERVICE)]
    ours = {t[0].trace_id: t for t in traces if t[-1].end / 1e6 >= since}
    lacking = [
        f"{orphans(spans)} without parents in:\n{tree(spans)}" for spans in ours.values() if orphans(spans)
    ]
    for claim in scene.cluster.claims():
        trace_id = claim["metadata"]["annotations"]["tracing.k8s.io/traceparent"].split("-")[1]
        if "decide" not in {span.name for span in ours.get(trace_id, ())}:
            lacking.append(f"no decision on {claim['metadata']['name']} in {trace_id}")
    return lacking
