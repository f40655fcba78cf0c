"""What keeps a node from being consolidated, one thing at a time, and how each is taken away again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tests.scenarios.manifests import Manifest, deployment, node_class, text
from tests.simulation.consolidation.complaints import budget, with_pod
from tests.simulation.consolidation.sides import ALL, Rehearsed, pool
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.model import labels
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.taints import Effect, Taint

_KEEP: Final = {labels.DO_NOT_DISRUPT: "true"}
_ZONES: Final = ("us-east-1a", "us-east-1b", "us-east-1c")
_MANY: Final = (
    "c5",
    "c5a",
    "c5d",
    "c6a",
    "c6i",
    "c7a",
    "c7i",
    "m5",
    "m5a",
    "m5d",
    "m6a",
    "m6i",
    "m7a",
    "m7i",
    "r5",
    "r5a",
)
_TAINT: Final = Taint("example.com/own", Effect.NO_SCHEDULE)
_CELL: Final = "example.com/cell"
_PORT: Final = [{"containerPort": 80, "hostPort": 8080}]

Step = Callable[["Scene"], None]


@dataclass(slots=True)
class Scene:
    """A node of the pool "mine" with one pod of "app", and, if `beside`, one of "hub" with room for it.

    Where there are several in one cluster, each is a `cell`: the names of all its objects end with that.
    """

    rehearsed: Rehearsed
    mine: Manifest
    hub: Manifest
    cell: str = ""

    @property
    def node(self) -> str:
        """The node that should go."""
        return self._node_of("mine")

    @property
    def other(self) -> str:
        """The node with room."""
        return self._node_of("hub")

    def _node_of(self, name: str) -> str:
        pool_name = self.name(name)
        return next(c.node_name for c in self.rehearsed.rehearsal.claims() if c.pool == pool_name)

    def name(self, name: str) -> str:
        """Return what an object of that name is called in this cell."""
        return f"{name}-{self.cell}" if self.cell else name

    def apply(self, *manifests: Manifest) -> None:
        made = [in_cell(one, self.cell) if self.cell else one for one in manifests]
        self.rehearsed.rehearsal.apply(text(node_class(), *made))

    def delete(self, kind: str, name: str) -> None:
        self.rehearsed.rehearsal.delete(kind, self.name(name))

    def patch(self, node: str, patch: NodePatch) -> None:
        self.rehearsed.rehearsal.cluster.patch_node(node, patch)

    def annotate_pods(self, **annotations: str) -> None:
        """Let the pods of "app" have these annotations and no others."""
        cluster = self.rehearsed.rehearsal.cluster
        for pod in cluster.pods():
            if pod.labels.get("app") == self.name("app"):
                cluster.apply(replace(pod, annotations=annotations))

    def change_mine(self, **disruption: object) -> None:
        """Let the pool of the node say this of disruption."""
        made = {**self.mine, "spec": {**self.mine["spec"]}}
        made["spec"]["disruption"] = {**made["spec"]["disruption"], **disruption}
        self.apply(made)

    def scale(self, name: str, replicas: int) -> None:
        self.rehearsed.rehearsal.scale(self.name(name), replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One blocker. `put` blocks, `take` takes it away; `said` is part of what people are told of the node.

    `app` makes the Deployment. Where it is not `beside` another node, the node is twice as large as what is
    left on it needs. `beginning` is what else is there from the start.
    """

    said: str
    put: Step = lambda _: None
    take: Step = lambda _: None
    app: Callable[[], Manifest] = lambda: deployment("app", 1, cpu="500m")
    beside: bool = True
    beginning: tuple[Manifest, ...] = ()
    mine: Mapping[str, Any] = field(default_factory=dict)


def scene(rehearsed: Rehearsed, blocker: Blocker) -> Scene:
    """Make the nodes, and block the one."""
    (made,) = scenes(rehearsed, {"": blocker}).values()
    return made


def scenes(rehearsed: Rehearsed, blockers: Mapping[str, Blocker]) -> dict[str, Scene]:
    """Make nodes for each of these blockers, by cell, and block one of each cell."""
    made = {cell: _cell(rehearsed, blocker, cell) for cell, blocker in blockers.items()}
    rehearsal = rehearsed.rehearsal
    filler = deployment("filler", 1, cpu="2100m")
    for cell, blocker in blockers.items():
        made[cell].apply(made[cell].mine, blocker.app(), *([] if blocker.beside else [filler]))
    first = sum(1 if blocker.beside else 2 for blocker in blockers.values())
    rehearsal.run_until(lambda: rehearsal.running() == first, within="5m")
    own = {"karpenter.sh/nodepool": "hub"}
    keeper = deployment("keeper", 1, cpu="500m", node_selector=own, annotations=_KEEP)
    for cell, blocker in blockers.items():
        if blocker.beside:
            made[cell].apply(made[cell].hub, keeper, *blocker.beginning)
        else:
            made[cell].scale("filler", 0)
    pods = sum(2 if blocker.beside else 1 for blocker in blockers.values())
    rehearsal.run_until(lambda: rehearsal.running() == pods, within="5m")
    for cell, blocker in blockers.items():
        blocker.put(made[cell])
    return made


def _cell(rehearsed: Rehearsed, blocker: Blocker, cell: str) -> Scene:
    sizes = ("xlarge",) if blocker.beside else ("large", "xlarge")
    mine = pool("mine", after="5m", **({"families": ("c5",), "sizes": sizes} | dict(blocker.mine)))
    return Scene(rehearsed, mine, pool("hub", after="5m", families=("c5",), sizes=("xlarge",)), cell)


def in_cell(manifest: Manifest, cell: str) -> Manifest:
    """Return an object as it is called in a cell, whose pods go to nodes of the cell alone."""
    made: Manifest = json.loads(json.dumps(manifest))
    made["metadata"]["name"] += f"-{cell}"
    spec = made["spec"]
    match made["kind"]:
        case "NodePool":
            spec["template"].setdefault("metadata", {}).setdefault("labels", {})[_CELL] = cell
        case "PodDisruptionBudget":
            spec["selector"]["matchLabels"]["app"] += f"-{cell}"
        case _:
            _apps_in_cell(spec, cell)
    return made


def _apps_in_cell(spec: Manifest, cell: str) -> None:
    template = spec["template"]
    chosen = template["spec"].setdefault("nodeSelector", {})
    if labels.NODEPOOL in chosen:
        chosen[labels.NODEPOOL] += f"-{cell}"
    chosen[_CELL] = cell
    apart = template["spec"].get("affinity", {}).get("podAntiAffinity", {})
    terms = apart.get("requiredDuringSchedulingIgnoredDuringExecution", [])
    for named in (
        spec["selector"]["matchLabels"],
        template["metadata"]["labels"],
        *(term["labelSelector"]["matchLabels"] for term in terms),
    ):
        named["app"] += f"-{cell}"


def _on_hub(name: str, *, cpu: str = "100m", **spec: object) -> Manifest:
    own = {"karpenter.sh/nodepool": "hub"}
    return with_pod(deployment(name, 1, cpu=cpu, node_selector=own, annotations=_KEEP), **spec)


def _ported(made: Manifest) -> Manifest:
    made["spec"]["template"]["spec"]["containers"][0]["ports"] = _PORT
    return made


def _opposed() -> Manifest:
    term = {"labelSelector": {"matchLabels": {"app": "foe"}}, "topologyKey": labels.HOSTNAME}
    return with_pod(
        deployment("app", 1, cpu="500m"),
        affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
    )


def _agent() -> Manifest:
    made = deployment("agent", 1, cpu="10m", memory="10Mi", annotations=_KEEP)
    del made["spec"]["replicas"]
    return {**made, "kind": "DaemonSet"}


def _delete_budgets(scene: Scene) -> None:
    scene.delete("PodDisruptionBudget", "app-pdb")


def _nothing_sold(scene: Scene) -> None:
    for zone in _ZONES:
        scene.rehearsed.rehearsal.run_out("c5.large", zone)


def _limited(scene: Scene, cpu: str) -> None:
    scene.apply({**scene.mine, "spec": {**scene.mine["spec"], "limits": {"cpu": cpu}}})


def _paying_back(scene: Scene, within: str) -> None:
    scene.apply({**scene.mine, "metadata": {"name": "mine", "annotations": {"treenail.sh/payback": within}}})


def _larger_choice(scene: Scene) -> None:
    scene.apply(pool("mine", after="5m", families=("c5",), sizes=("large", "xlarge")))


def _spot_for_spot(scene: Scene) -> None:
    """Start the controller again with the feature gate on, and let fifteen types be cheaper by far."""
    rehearsal = scene.rehearsed.rehearsal
    (one,) = (record.instance for record in rehearsal.ec2.live())
    rehearsal.ec2.outside.set_spot_price(one.instance_type, one.zone, 2 * one.price)
    system = replace(rehearsal.conditions.system, consolidation=ConsolidationRules(spot_to_spot=True))
    rehearsal.conditions = replace(rehearsal.conditions, system=system)
    rehearsal.crash()
    rehearsal.restart()


def _second_budget(scene: Scene) -> None:
    second = budget("app", maxUnavailable=1)
    second["metadata"]["name"] = "second"
    scene.apply(budget("app", maxUnavailable=1), second)


BLOCKERS: Final[Mapping[str, Blocker]] = {
    "a pod with do-not-disrupt": Blocker(
        said='pod has "karpenter.sh/do-not-disrupt" annotation',
        put=lambda s: s.annotate_pods(**{labels.DO_NOT_DISRUPT: "true"}),
        take=lambda s: s.annotate_pods(),
    ),
    "a pod with do-not-disrupt for a time": Blocker(
        said='pod has "karpenter.sh/do-not-disrupt" annotation',
        put=lambda s: s.annotate_pods(**{labels.DO_NOT_DISRUPT: "90m"}),
    ),
    "a pod with do-not-evict": Blocker(
        said="annotation",
        put=lambda s: s.annotate_pods(**{labels.DO_NOT_EVICT: "true"}),
        take=lambda s: s.annotate_pods(),
    ),
    "a daemon's pod with do-not-disrupt": Blocker(
        said="do-not-disrupt",
        put=lambda s: s.apply(_agent()),
        take=lambda s: s.delete("DaemonSet", "agent"),
    ),
    "a node with do-not-disrupt": Blocker(
        said="do-not-disrupt",
        put=lambda s: s.patch(s.node, NodePatch(annotations=_KEEP)),
        take=lambda s: s.patch(s.node, NodePatch(remove_annotations=(labels.DO_NOT_DISRUPT,))),
    ),
    "a node with do-not-consolidate": Blocker(
        said="do-not-consolidate",
        put=lambda s: s.patch(s.node, NodePatch(annotations={labels.DO_NOT_CONSOLIDATE: "true"})),
        take=lambda s: s.patch(s.node, NodePatch(remove_annotations=(labels.DO_NOT_CONSOLIDATE,))),
    ),
    "a budget that lets none be unavailable": Blocker(
        said="default/app-pdb",
        put=lambda s: s.apply(budget("app", maxUnavailable=0)),
        take=_delete_budgets,
    ),
    "a budget that needs all": Blocker(
        said="default/app-pdb",
        put=lambda s: s.apply(budget("app", minAvailable="100%")),
        take=_delete_budgets,
    ),
    "two budgets": Blocker(said="default/second", put=_second_budget, take=_delete_budgets),
    "consolidateAfter: Never": Blocker(
        said="consolidation disabled",
        put=lambda s: s.change_mine(consolidateAfter="Never"),
        take=lambda s: s.apply(s.mine),
    ),
    "WhenEmpty": Blocker(
        said="WhenEmpty",
        put=lambda s: s.change_mine(consolidationPolicy="WhenEmpty"),
        take=lambda s: s.apply(s.mine),
    ),
    "a pool's budget of none": Blocker(
        said="blocking budget",
        put=lambda s: s.change_mine(budgets=[{"nodes": "0"}]),
        take=lambda s: s.apply(s.mine),
    ),
    "a pool's budget of none for this reason": Blocker(
        said="blocking budget",
        put=lambda s: s.change_mine(budgets=[*ALL, {"nodes": "0", "reasons": ["Underutilized"]}]),
        take=lambda s: s.apply(s.mine),
    ),
    "a pool's budget of none at this time": Blocker(
        said="blocking budget",
        put=lambda s: s.change_mine(budgets=[{"nodes": "0", "schedule": "0 0 * * *", "duration": "24h"}]),
        take=lambda s: s.apply(s.mine),
    ),
    "the other node is tainted": Blocker(
        said="cheaper",
        put=lambda s: s.patch(s.other, NodePatch(add_taints=(_TAINT,))),
        take=lambda s: s.patch(s.other, NodePatch(remove_taints=(_TAINT,))),
    ),
    "the other node is cordoned": Blocker(
        said="cheaper",
        put=lambda s: s.patch(s.other, NodePatch(unschedulable=True)),
        take=lambda s: s.patch(s.other, NodePatch(unschedulable=False)),
    ),
    "the other node has no room": Blocker(
        said="cheaper",
        put=lambda s: s.apply(_on_hub("big", cpu="2900m")),
        take=lambda s: s.scale("big", 0),
    ),
    "the other node's port is taken": Blocker(
        said="cheaper",
        app=lambda: _ported(deployment("app", 1, cpu="500m")),
        put=lambda s: s.apply(_ported(_on_hub("other"))),
        take=lambda s: s.scale("other", 0),
    ),
    "the other node has a foe": Blocker(
        said="cheaper",
        app=_opposed,
        put=lambda s: s.apply(_on_hub("foe")),
        take=lambda s: s.scale("foe", 0),
    ),
    "the pod wants this pool": Blocker(
        said="cheaper",
        app=lambda: deployment("app", 1, cpu="500m", node_selector={"karpenter.sh/nodepool": "mine"}),
        take=lambda s: s.apply(deployment("app", 1, cpu="500m")),
    ),
    "the node's zone is not known": Blocker(
        said="topology.kubernetes.io/zone",
        put=lambda s: s.patch(s.node, NodePatch(remove_labels=(labels.ZONE,))),
        take=lambda s: s.patch(s.node, NodePatch(labels={labels.ZONE: _ZONES[0]})),
    ),
    "it does not pay back": Blocker(
        said="pay",
        put=lambda s: _paying_back(s, "1s"),
        take=lambda s: _paying_back(s, "100h"),
    ),
    "the pool's limit": Blocker(
        said="limit",
        beside=False,
        put=lambda s: _limited(s, "5"),
        take=lambda s: _limited(s, "50"),
    ),
    "no smaller type is allowed": Blocker(
        said="cheaper", beside=False, mine={"sizes": ("xlarge",)}, take=_larger_choice
    ),
    "no capacity of the smaller type": Blocker(
        said="",
        beside=False,
        put=_nothing_sold,
        take=lambda s: s.rehearsed.rehearsal.ec2.outside.restock(),
    ),
    "spot that may not replace spot": Blocker(
        said="SpotToSpotConsolidation",
        beside=False,
        mine={"capacity_types": ("spot",), "families": _MANY},
        take=_spot_for_spot,
    ),
}


# What these do concerns all nodes there are, so that there is no more than one of them in a cluster.
ALONE: Final = frozenset({"no capacity of the smaller type", "spot that may not replace spot"})


def gone(made: Scene, node: str) -> bool:
    """Return whether a node is gone."""
    return all(one.name != node for one in made.rehearsed.rehearsal.nodes())
