"""A rehearsal in which several objects are read with a change each, while nodes go for every reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.mutations.plain import plain
from tests.mutations.table import Mutation, Tree
from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from tests.simulation.witness import Witness
from treenail.adapters.api.manifests import to_manifest
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.cluster.cluster_facts import DaemonSet, Kind, ObjectSetAside
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.explain.pod_explanation import explain_pod
from treenail.domain.model.instants import write_instant
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Pod
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

_STORED = (CSINode, DaemonSet, PersistentVolume, PersistentVolumeClaim, PodDisruptionBudget, StorageClass)
_EXPIRES = "25m"


@dataclass(slots=True)
class Rehearsed:
    """One history. Each mutation has an app of one pod, alone of its kind on its node, with all it needs."""

    seed: int
    mutations: Sequence[Mutation]
    rehearsal: Rehearsal = field(init=False)
    witness: Witness = field(init=False)
    # Every object that was ever set aside, as it was told of last.
    aside: dict[tuple[Kind, str], ObjectSetAside] = field(default_factory=dict)
    unexplained: list[str] = field(default_factory=list)
    # Whether EC2 has begun to take machines.
    taken: bool = False
    _nodes: dict[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rehearsal = Rehearsal(seed=self.seed)
        self.witness = Witness(self.rehearsal, {})

    def run(self) -> None:
        """Come up, be misread from a restart on, shrink, drift, expire and be interrupted."""
        with self.rehearsal as rehearsal:
            rehearsal.apply(text(*self._manifests()))
            rehearsal.run("6m")
            self._misread()
            self._let_pass("2m")
            rehearsal.scale("web", 0)
            self._let_pass("5m")
            rehearsal.apply(text(_pool(team="new")))
            self._let_pass("12m")
            # What is on them by now was made since, and is misread too.
            self._misread()
            self._let_pass("20m")
            self.taken = True
            for node in sorted({pod.node_name for pod in self._odd() if pod.node_name})[:3]:
                if self._takes(node):
                    rehearsal.interrupt(node)
            self._let_pass("5m")

    def _takes(self, node: str) -> bool:
        claims = {claim.node_name: claim for claim in self.rehearsal.claims()}
        return node in claims and not claims[node].leaving

    def _let_pass(self, span: str) -> None:
        self.rehearsal.run(span)
        self.witness.check()
        self._look()

    def _misread(self) -> None:
        """Let each slot's node be as it is now, and all be read anew, by a controller that knows nothing."""
        rehearsal = self.rehearsal
        rehearsal.crash()
        self._nodes = {pod.node_name: _slot(pod) for pod in self._odd() if pod.node_name}
        rehearsal.cluster.write_as(self._write)
        rehearsal.restart(after=5)

    def may_be_deleted(self, uid: str) -> bool:
        """Return whether a pod may go without an eviction now.

        It may where its claim says by when it is gone, and where EC2 takes its machine and it has no other
        place, or stops too slowly. One that cannot be read waits for no place.
        """
        model = self.rehearsal.system.model
        pod = model.objects.pods[uid]
        view = model.objects.view(model.objects.view_name(pod.node_name))
        claim = view.claim if view is not None else None
        if claim is not None and claim.termination_grace_period is not None:
            return True
        return self.taken and not pod.unread

    def _odd(self) -> list[Pod]:
        return [pod for pod in self.rehearsal.pods() if pod.labels.get("app", "").startswith("odd-")]

    # --- what there is

    def _manifests(self) -> Iterator[Manifest]:
        yield node_class()
        yield _pool()
        yield deployment("web", len(self.mutations), cpu="500m", grace_seconds=5)
        for n in range(len(self.mutations)):
            app = f"odd-{n}"
            yield from (
                plain(kind, app, app)
                for kind in ("StorageClass", "PersistentVolumeClaim", "PodDisruptionBudget", "DaemonSet")
            )
            yield _pods_of(app)

    # --- how it is read

    def _write(self, thing: ApiObject) -> Tree | None:
        slot = self._slot_of(thing)
        mutation = self.mutations[slot] if slot is not None else None
        if mutation is None or mutation.kind != type(thing).__name__:
            return None
        tree = (
            to_manifest(thing) if isinstance(thing, Pod | Node | NodeClaim) else _stored(thing, f"odd-{slot}")
        )
        read = mutation.applied(tree)
        if mutation.way == ("spec", "taints"):
            # What keeps pods off a node that goes is there beside it.
            read["spec"]["taints"] = [*mutation.value, *tree["spec"].get("taints", ())]
        return read

    def _slot_of(self, thing: ApiObject) -> int | None:
        match thing:
            case Pod():
                return _slot(thing)
            case Node() | CSINode():
                return self._nodes.get(thing.name)
            case NodeClaim():
                return self._nodes.get(thing.node_name)
            case PersistentVolume():
                return _number(thing.claim.rpartition("/")[2])
            case _ if isinstance(thing, _STORED):
                return _number(thing.name)
            case _:
                return None

    # --- what is told of it

    def _look(self) -> None:
        model, now = self.rehearsal.system.model, self.rehearsal.world.now()
        pods = [one for pod in model.objects.pods.values() for one in explain_pod(model, pod, now)]
        nodes = [one for view in model.objects.views() for one in explain_node(model, view, now)]
        said = "\n".join(one.says for one in (*pods, *nodes) if "not understood" in one.says)
        for key, aside in model.objects.aside.items():
            self.aside[key] = aside
            if aside.problem not in said:
                self.unexplained.append(f"{aside.about}: {aside.problem}")

    def untold(self) -> list[str]:
        """Return what was set aside and named in no event."""
        told = {
            (record.event.about.kind, record.event.about.name)
            for record in self.rehearsal.cluster.events()
            if record.event.reason == "FailedValidation"
        }
        return [
            str(aside.about)
            for aside in self.aside.values()
            if (aside.about.kind, aside.about.name) not in told
        ]


def _slot(pod: Pod) -> int | None:
    return _number(pod.labels.get("app", ""))


def _number(name: str) -> int | None:
    number = name.removeprefix("odd-")
    return int(number) if number != name and number.isdecimal() else None


def _pool(**labels: str) -> Manifest:
    pool = node_pool(labels=labels)
    pool["spec"]["disruption"]["budgets"] = [{"nodes": "100%"}]
    pool["spec"]["template"]["spec"]["expireAfter"] = _EXPIRES
    return pool


def _pods_of(app: str) -> Manifest:
    """Return a Deployment of one pod that has a volume, and its node for itself among its like."""
    made = deployment(app, 1, grace_seconds=5)
    template = made["spec"]["template"]
    template["metadata"]["labels"]["odd"] = "true"
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"odd": "true"}}}
    template["spec"] |= {
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": app}}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
    }
    return made


def _stored(thing: ApiObject, app: str) -> Tree:
    """Return an object as it was applied, with what has become of it since."""
    assert isinstance(thing, _STORED)
    tree = plain(type(thing).__name__, thing.name, app)
    tree["metadata"] |= {"uid": thing.uid, "resourceVersion": str(thing.resource_version)}
    match thing:
        case PodDisruptionBudget():
            tree["status"] = {"disruptionsAllowed": thing.disruptions_allowed or 0}
        case PersistentVolumeClaim():
            tree["spec"]["volumeName"] = thing.volume_name
            tree["status"] = {"phase": "Bound" if thing.bound else "Pending"}
        case PersistentVolume():
            namespace, _, name = thing.claim.partition("/")
            tree["spec"]["claimRef"] = {"namespace": namespace, "name": name}
        case StorageClass() if thing.created_at is not None:
            tree["metadata"]["creationTimestamp"] = write_instant(thing.created_at)
        case _:
            pass
    if isinstance(thing, DaemonSet | PersistentVolumeClaim | PodDisruptionBudget):
        tree["metadata"]["namespace"] = thing.namespace
    return tree
