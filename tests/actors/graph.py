"""The graph of actors and messages, read off the constructors' types."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_args, get_origin

from treenail.actors.batcher import Batcher
from treenail.actors.budget_arbiter import BudgetArbiter
from treenail.actors.buffer_reporter import BufferReporter
from treenail.actors.cluster_state.cluster_state import ClusterState
from treenail.actors.cluster_state.subscribers import Subscribers
from treenail.actors.consolidator import Consolidator
from treenail.actors.disruptor import Disruptor
from treenail.actors.drift_inspector import DriftInspector
from treenail.actors.early_binder import EarlyBinder
from treenail.actors.event_publisher import EventPublisher
from treenail.actors.fleet_launcher.fleet_launcher import FleetLauncher
from treenail.actors.instance_tagger import InstanceTagger
from treenail.actors.interruption_listener import InterruptionListener
from treenail.actors.node_class_controller import NodeClassController
from treenail.actors.node_lifecycle import NodeLifecycle
from treenail.actors.node_pool_selector import NodePoolSelector
from treenail.actors.node_repairer import NodeRepairer
from treenail.actors.overlay_inspector import OverlayInspector
from treenail.actors.packer import Packer
from treenail.actors.pod_event_recorder import PodEventRecorder
from treenail.actors.pod_watcher import PodWatcher
from treenail.actors.pool_sizer import PoolSizer
from treenail.actors.pool_usage_reporter import PoolUsageReporter
from treenail.actors.provisioning_trial import ProvisioningTrial
from treenail.actors.runtime.base import DomainActor
from treenail.actors.soft_tainter import SoftTainter
from treenail.actors.status_poller import StatusPoller
from treenail.actors.status_reporter import StatusReporter
from treenail.actors.termination_actor.termination_actor import TerminationActor
from treenail.actors.zonal_shift_poller import ZonalShiftPoller
from treenail.domain.model.runtime import Ref

ACTORS: tuple[type[DomainActor[Any]], ...] = (
    ClusterState,
    PodWatcher,
    PodEventRecorder,
    ProvisioningTrial,
    PoolSizer,
    PoolUsageReporter,
    EventPublisher,
    Batcher,
    StatusReporter,
    NodeClassController,
    NodePoolSelector,
    Packer,
    FleetLauncher,
    NodeLifecycle,
    EarlyBinder,
    DriftInspector,
    OverlayInspector,
    InstanceTagger,
    InterruptionListener,
    StatusPoller,
    ZonalShiftPoller,
    NodeRepairer,
    SoftTainter,
    TerminationActor,
    Disruptor,
    Consolidator,
    BudgetArbiter,
    BufferReporter,
)

# What the constructors call those they tell.
ROLES = {
    "cluster": "ClusterState",
    "batcher": "Batcher",
    "pod_watcher": "PodWatcher",
    "reporter": "StatusReporter",
    "node_class_controller": "NodeClassController",
    "drift_inspector": "DriftInspector",
    "overlay_inspector": "OverlayInspector",
    "zonal_shift_poller": "ZonalShiftPoller",
    "node_repairer": "NodeRepairer",
    "pool_usage_reporter": "PoolUsageReporter",
    "sizer": "PoolSizer",
    "soft_tainter": "SoftTainter",
    "event_publisher": "EventPublisher",
    "selector": "NodePoolSelector",
    "packer": "Packer",
    "launcher": "FleetLauncher",
    "lifecycle": "NodeLifecycle",
    "termination": "TerminationActor",
    "arbiter": "BudgetArbiter",
    "disruptor": "Disruptor",
    "consolidator": "Consolidator",
    "early_binder": "EarlyBinder",
    "tagger": "InstanceTagger",
    "listener": "InterruptionListener",
    "recorder": "PodEventRecorder",
    "buffer_reporter": "BufferReporter",
    "trial": "ProvisioningTrial",
    "observer": "observer",
}


def messages(of: Any) -> tuple[str, ...]:
    """Return the names of the message types a type stands for."""
    if get_origin(of) in (types.UnionType, typing.Union):
        return tuple(name for part in get_args(of) for name in messages(part))
    return (of.__name__,)


def required(hint: Any) -> Any:
    """Return what a parameter is where it is not None."""
    parts = [part for part in get_args(hint) if part is not type(None)]
    return parts[0] if type(None) in get_args(hint) and len(parts) == 1 else hint


def told(parameters: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return whom the parameters of a constructor lead to, with what."""
    found: dict[str, tuple[str, ...]] = {}
    for name, declared in parameters.items():
        hint = required(declared)
        if get_origin(hint) is Ref:
            found[ROLES[name]] = messages(get_args(hint)[0])
        elif get_origin(hint) is Callable and get_origin(get_args(hint)[-1]) is Ref:
            found[ROLES[name]] = messages(get_args(get_args(hint)[-1])[0])
        elif hint is Subscribers:
            hints = typing.get_type_hints(hint)
            found |= told({f.name: hints[f.name] for f in fields(hint)})
    return found


def edges() -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the messages by (who tells, who hears), as the constructors declare them."""
    graph: dict[tuple[str, str], tuple[str, ...]] = {}
    for actor in ACTORS:
        hints = typing.get_type_hints(actor.__init__)
        for to, names in told(hints).items():
            graph[actor.__name__, to] = tuple(sorted(names))
    return graph


def table() -> str:
    """Return the graph as the page in the docs shows it."""
    rows = [f"| {a} | {b} | {', '.join(names)} |" for (a, b), names in sorted(edges().items())]
    return "\n".join(["| tells | hears | messages |", "|---|---|---|", *rows])
