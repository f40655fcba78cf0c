"""The public face for tests of your own: docs/testing.md lists what there is.

What stands in `__all__` follows semantic versioning; nothing else does.
"""

from __future__ import annotations

from treenail.actors.runtime.base import DomainActor, ForwardRef, NullRef, Runtime
from treenail.actors.runtime.ports import Ports
from treenail.actors.runtime.world import NotSettledError, Process, SeededDice, World
from treenail.actors.system import Host, System, SystemSettings
from treenail.adapters.api.manifests import Decoded, ManifestError
from treenail.adapters.api.workloads import (
    CronJob,
    Deployment,
    Job,
    PriorityClass,
    ReplicaSet,
    StatefulSet,
)
from treenail.adapters.embed import Conditions, NodeRecord, TimelineEntry
from treenail.adapters.embed.machines import NodeMachines
from treenail.adapters.embed.waiting import WaitingPod
from treenail.adapters.fake.cluster import (
    EKS_DAEMONS,
    ClusterFaults,
    ClusterSettings,
    EventRecord,
    FakeCluster,
)
from treenail.adapters.fake.ec2 import (
    Catalogue,
    EC2Faults,
    EC2Settings,
    FakeEC2,
    InstanceRecord,
    ReservedCapacity,
    Shortfall,
    Spell,
)
from treenail.adapters.fake.queue import FakeQueue, QueueFaults
from treenail.adapters.fake.telemetry import LogLine, Observed, RecordingTelemetry
from treenail.adapters.solver.inline import AdvisingSolver
from treenail.domain.cluster.batch_window import BatchClosed, PodBecamePending
from treenail.domain.cluster.changes import PodBound
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.disruption.disruption import (
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
    NodeEmptied,
    NodeInterrupted,
)
from treenail.domain.interruption.impairments import Impairment, Impairments
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.launch.launching import CapacityRanOut, ClaimFailed, LaunchFailed, NodeLaunched
from treenail.domain.lifecycle.lifecycle import NodeInitialized, NodeNeverCame, NodeRegistered
from treenail.domain.model.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidError,
    NodeClassNotReadyError,
    NotFoundError,
    PortError,
    TooManyRequestsError,
    UnavailableError,
)
from treenail.domain.model.fleets import (
    FleetAnswer,
    FleetError,
    FleetRequest,
    Instance,
    InstanceState,
    Override,
)
from treenail.domain.model.instance_types import InstanceType, Offering, Overhead
from treenail.domain.model.node_class_status import NodeClassMeaning, NodeClassStatus
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Condition, Node, NodeClaim, NodeView, Status
from treenail.domain.model.observed_capacity import AllocatableObserved, CapacityObserved, MemoryObserved
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import Pod
from treenail.domain.model.price_overrides import PriceOverrides
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.model.runtime import Clock, Done, Failed, Outcome, Ref
from treenail.domain.model.taints import Taint
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.refusal_reasons import Refusal
from treenail.domain.ports import Cloud, ClusterReader, ClusterWriter, InterruptionQueue, Solver, Telemetry
from treenail.domain.status.readiness import ReadinessChanged
from treenail.domain.telemetry.span_trees import SpanTree
from treenail.domain.telemetry.tracing import Span, SpanEvent
from treenail.domain.termination.drain import InstanceTerminated, NodeCordoned, NodeDrained, NodeUncordoned
from treenail.testing.delegating_cloud import DelegatingCloud
from treenail.testing.golden import check_golden, timeline_text, trace_text
from treenail.testing.manifest_warnings import ManifestWarning
from treenail.testing.probes import PlainDice, Probe
from treenail.testing.recording import RecordingError, Replay, record, replay
from treenail.testing.rehearsal import Rehearsal

__all__ = [
    "EKS_DAEMONS",
    "AdvisingSolver",
    "AllocatableObserved",
    "AlreadyExistsError",
    "BatchClosed",
    "CapacityObserved",
    "CapacityRanOut",
    "Catalogue",
    "ClaimFailed",
    "Clock",
    "Cloud",
    "ClusterFaults",
    "ClusterReader",
    "ClusterSettings",
    "ClusterWriter",
    "Condition",
    "Conditions",
    "ConflictError",
    "CronJob",
    "DaemonSet",
    "Decoded",
    "DelegatingCloud",
    "Deployment",
    "DisruptNodes",
    "DisruptionProposed",
    "DisruptionRefused",
    "DomainActor",
    "Done",
    "EC2Faults",
    "EC2Settings",
    "EventRecord",
    "Failed",
    "FakeCluster",
    "FakeEC2",
    "FakeQueue",
    "FleetAnswer",
    "FleetError",
    "FleetRequest",
    "ForwardRef",
    "Host",
    "Impairment",
    "Impairments",
    "Instance",
    "InstanceRecord",
    "InstanceState",
    "InstanceTerminated",
    "InstanceType",
    "InterruptionKind",
    "InterruptionQueue",
    "InvalidError",
    "Job",
    "Kubelet",
    "LaunchFailed",
    "LogLine",
    "ManifestError",
    "ManifestWarning",
    "MemoryObserved",
    "Node",
    "NodeClaim",
    "NodeClass",
    "NodeClassMeaning",
    "NodeClassNotReadyError",
    "NodeClassStatus",
    "NodeCordoned",
    "NodeDrained",
    "NodeEmptied",
    "NodeInitialized",
    "NodeInterrupted",
    "NodeLaunched",
    "NodeMachines",
    "NodeNeverCame",
    "NodePool",
    "NodeRecord",
    "NodeRegistered",
    "NodeUncordoned",
    "NodeView",
    "NotFoundError",
    "NotSettledError",
    "NullRef",
    "Observed",
    "Offering",
    "Outcome",
    "Overhead",
    "Override",
    "PlainDice",
    "PlanCommitted",
    "Pod",
    "PodBecamePending",
    "PodBound",
    "PodDisruptionBudget",
    "PortError",
    "Ports",
    "PriceOverrides",
    "PriorityClass",
    "Probe",
    "Process",
    "Purpose",
    "QueueFaults",
    "QueueMessage",
    "ReadinessChanged",
    "RecordingError",
    "RecordingTelemetry",
    "Ref",
    "Refusal",
    "RefusedClass",
    "Rehearsal",
    "Replay",
    "ReplicaSet",
    "Requirement",
    "Requirements",
    "ReservedCapacity",
    "Resources",
    "Runtime",
    "SeededDice",
    "Shortfall",
    "Solver",
    "Span",
    "SpanEvent",
    "SpanTree",
    "Spell",
    "StatefulSet",
    "Status",
    "System",
    "SystemSettings",
    "Taint",
    "Telemetry",
    "TimelineEntry",
    "TooManyRequestsError",
    "UnavailableError",
    "WaitingPod",
    "World",
    "check_golden",
    "record",
    "replay",
    "timeline_text",
    "trace_text",
]
