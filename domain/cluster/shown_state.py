"""The shown state: nodes, pods and pools at one moment, as immutable values for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Ref


@dataclass(frozen=True, slots=True)
class ShownNode:
    """A node or claim with the pods on it, those of DaemonSets included."""

    view: NodeView
    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class ShownPod:
    """A pod without a node; `promised` is the node or claim it has a place on, "" where it has none."""

    pod: Pod
    promised: str


@dataclass(frozen=True, slots=True)
class StateShown:
    """The state at `now`: nodes by name, pods that wait by namespace and name."""

    revision: int
    now: datetime
    nodes: tuple[ShownNode, ...] = ()
    waiting: tuple[ShownPod, ...] = ()


@dataclass(frozen=True, slots=True)
class StateAsked:
    """Somebody wants to be shown the state."""

    to: Ref[StateShown]


def shown_state(model: ClusterModel, now: datetime) -> StateShown:
    """Return what is there. It costs nothing until somebody asks."""
    objects = model.objects
    nodes = tuple(ShownNode(view, objects.pods_of(view)) for view in objects.views())
    waiting = sorted(
        (pod for uid in objects.provisionable if (pod := objects.pods.get(uid)) is not None),
        key=lambda pod: pod.key,
    )
    promises = model.promises
    return StateShown(
        revision=model.revision,
        now=now,
        nodes=nodes,
        waiting=tuple(
            ShownPod(pod, promise.target if (promise := promises.of(pod.uid)) is not None else "")
            for pod in waiting
        ),
    )
