"""Metrics, each declared once. Those of Karpenter keep its names and labels, so that dashboards go on.

A label never holds a pod's name or a decision's id: the number of series grows with pools, zones and
instance types, not with work done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class MetricKind(StrEnum):
    """What a metric's value does over time."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric as operators see it. `buckets` are a histogram's upper bounds, in its unit."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    unit: str = ""

    def accepts(self, kind: MetricKind, labels: Iterable[str]) -> bool:
        """Return whether this is written as `kind`, with exactly these labels."""
        return self.kind is kind and sorted(self.labels) == sorted(labels)


# From a cached answer to a launch that waits for capacity.
SLOW: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0),
    *(40.0, 50.0, 60.0, 120.0, 150.0, 300.0, 450.0, 600.0),
)
# What happens inside the process.
FAST: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


def _counter(name: str, about: str, *labels: str) -> Metric:
    return Metric(name=name, kind=MetricKind.COUNTER, help=about, labels=labels)


def _gauge(name: str, about: str, *labels: str) -> Metric:
    unit = "seconds" if name.endswith("_seconds") else ""
    return Metric(name=name, kind=MetricKind.GAUGE, help=about, labels=labels, unit=unit)


def _seconds(name: str, about: str, *labels: str, buckets: tuple[float, ...] = SLOW) -> Metric:
    return Metric(
        name=name, kind=MetricKind.HISTOGRAM, help=about, labels=labels, buckets=buckets, unit="seconds"
    )


NODECLAIMS_CREATED: Final = _counter(
    "karpenter_nodeclaims_created_total",
    "Claims on nodes that were written, by why.",
    *("reason", "nodepool", "min_values_relaxed"),
)
NODECLAIMS_TERMINATED: Final = _counter(
    "karpenter_nodeclaims_terminated_total",
    "Claims on nodes that are gone, and their instances with them.",
    *("nodepool", "capacity_type", "zone"),
)
NODECLAIMS_DISRUPTED: Final = _counter(
    "karpenter_nodeclaims_disrupted_total",
    "Claims on nodes that we began to give back, by why.",
    *("reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),
)
NODECLAIMS_UNHEALTHY: Final = _counter(
    "karpenter_nodeclaims_unhealthy_disrupted_total",
    "Claims on nodes that were given up because their nodes were unhealthy, by the condition that said so.",
    *("condition", "nodepool", "capacity_type", "image_id"),
)
NODES_CREATED: Final = _counter("karpenter_nodes_created_total", "Nodes that registered.", "nodepool", "zone")
NODES_TERMINATED: Final = _counter(
    "karpenter_nodes_terminated_total", "Nodes that are gone after a drain.", "nodepool", "zone"
)
SCHEDULING_DURATION: Final = _seconds(
    "karpenter_scheduler_scheduling_duration_seconds",
    "How long it took to decide where pods go.",
    "controller",
)
SCHEDULER_QUEUE_DEPTH: Final = _gauge(
    "karpenter_scheduler_queue_depth", "Pods that wait for the decision being made.", "controller"
)
UNSCHEDULABLE_PODS: Final = _gauge(
    "karpenter_scheduler_unschedulable_pods_count",
    "Pods that the last decision found no place for.",
    "controller",
)
CLUSTER_STATE_NODES: Final = _gauge(
    "karpenter_cluster_state_node_count", "Nodes and claims in the model of the cluster."
)
CLUSTER_STATE_SYNCED: Final = _gauge(
    "karpenter_cluster_state_synced",
    "1 once the model of the cluster holds all that the API server has, else 0.",
)
PODS_BOUND_DURATION: Final = _seconds(
    "karpenter_pods_bound_duration_seconds", "From a pod's creation until it is bound to a node."
)
NODEPOOLS_LIMIT: Final = _gauge(
    "karpenter_nodepools_limit", "What all nodes of a pool may have together.", "resource_type", "nodepool"
)
NODEPOOLS_USAGE: Final = _gauge(
    "karpenter_nodepools_usage", "What all nodes of a pool have together.", "resource_type", "nodepool"
)
CLOUDPROVIDER_DURATION: Final = _seconds(
    "karpenter_cloudprovider_duration_seconds",
    "How long calls to the cloud took.",
    *("controller", "method", "provider"),
)
CLOUDPROVIDER_ERRORS: Final = _counter(
    "karpenter_cloudprovider_errors_total",
    "Calls to the cloud that failed, by error.",
    *("controller", "method", "provider", "error"),
)
INTERRUPTION_RECEIVED: Final = _counter(
    "karpenter_interruption_received_messages_total",
    "Messages received from the interruption queue.",
    "message_type",
)
INTERRUPTION_DELETED: Final = _counter(
    "karpenter_interruption_deleted_messages_total", "Messages deleted from the interruption queue."
)
INSTANCE_STATUS_UNHEALTHY: Final = _counter(
    "karpenter_interruption_instance_status_unhealthy_total",
    "Instances whose status EC2 found to be unhealthy, by what it is.",
    "category",
)
REPAIRS_HELD: Final = _counter(
    "treenail_node_repairs_held_total",
    "Times that an unwell node was not given up yet, as too many of its pool or zone go already.",
    "nodepool",
    "cause",
)
DISRUPTION_DECISIONS: Final = _counter(
    "karpenter_voluntary_disruption_decisions_total",
    "Decisions to give nodes back, by what was decided and why.",
    *("decision", "reason", "consolidation_type"),
)
DISRUPTION_DECISIONS_BY_POOL: Final = _counter(
    "karpenter_voluntary_disruption_decisions_by_nodepool_total",
    "Decisions to give nodes back, by what was decided and why, once for each pool of the nodes.",
    *("nodepool", "decision", "reason", "consolidation_type"),
)
DISRUPTION_EVALUATION_DURATION: Final = _seconds(
    "karpenter_voluntary_disruption_decision_evaluation_duration_seconds",
    "How long it took to find out which nodes may be given back.",
    *("reason", "consolidation_type"),
)
DISRUPTION_ELIGIBLE_NODES: Final = _gauge(
    "karpenter_voluntary_disruption_eligible_nodes", "Nodes that may be given back, by why.", "reason"
)
DISRUPTION_FAILED_VALIDATIONS: Final = _counter(
    "karpenter_voluntary_disruption_failed_validations_total",
    "Nodes that were to be consolidated and stay, as the cluster changed before the move was made.",
    "consolidation_type",
)
DISRUPTION_QUEUE_FAILURES: Final = _counter(
    "karpenter_voluntary_disruption_queue_failures_total",
    "Moves that were begun and taken back.",
    *("decision", "reason", "consolidation_type"),
)
CONSOLIDATION_MOVES: Final = _counter(
    "karpenter_consolidation_moves_total",
    "Consolidation moves found, by whether they are made (approved), and the pool of their nodes.",
    *("decision", "nodepool", "policy"),
)
CONSOLIDATION_SCORE: Final = Metric(
    name="karpenter_consolidation_score",
    kind=MetricKind.HISTOGRAM,
    help="Scores of moves of pools whose policy is Balanced: approved from 0.5 on.",
    labels=("decision", "nodepool", "policy"),
    buckets=(0.1, 0.25, 0.33, 0.5, 1.0, 2.0, 5.0, 10.0),
)
NODEPOOLS_COST: Final = Metric(
    name="karpenter_nodepools_cost_total",
    kind=MetricKind.GAUGE,
    help="What the nodes of a pool cost, volumes and overhead included, in dollars per hour.",
    labels=("nodepool",),
)
CONSOLIDATION_REJECTED: Final = _counter(
    "treenail_consolidation_rejected_total",
    "Moves that were proposed and not begun, by the kind of what spoke against it.",
    "reason",
)
CONSOLIDATION_SAVED: Final = _counter(
    "treenail_consolidation_saved_dollars_per_hour_total",
    "What finished moves save, at launched prices, in dollars per hour, by the pool of the nodes that went.",
    "nodepool",
)
CONSOLIDATION_LOOPS: Final = _counter(
    "treenail_consolidation_loops_total",
    "Moves that were not made as they would have undone one of the last six hours.",
)

DRIFT_HELD_BACK: Final = _counter(
    "treenail_drift_held_back_total",
    "Times that a new node drifted at once, so that drifted nodes were not replaced for a while.",
    *("nodepool", "reason"),
)
DECISION_PHASE_DURATION: Final = _seconds(
    "treenail_decision_phase_duration_seconds",
    "How long each phase of a decision took, from batch to bind.",
    "phase",
)
SPANS_RECORDED: Final = _counter("treenail_spans_recorded_total", "Spans taken to be exported.")
SPANS_DROPPED: Final = _counter("treenail_spans_dropped_total", "Spans lost, by where.", "reason")
PODS_BOUND_EARLY: Final = _counter(
    "treenail_pods_bound_early_total", "Pods bound to a node before its machine joined.", "nodepool"
)
OBJECTS_SET_ASIDE: Final = _counter(
    "treenail_objects_set_aside_total", "Objects that could not be understood or handled.", "kind"
)
METRICS_REFUSED: Final = _counter(
    "treenail_metrics_refused_total", "Values that were written to no metric declared here: a defect."
)
LEADER: Final = _gauge(
    "leader_election_master_status", "1 where this replica holds the lease of that name, else 0.", "name"
)
PROVISIONING_ENABLED: Final = _gauge(
    "treenail_provisioning_enabled", "1 where nodes are bought, 0 after too many failures in a row."
)
PROVISIONING_RESUMES: Final = _gauge(
    "treenail_provisioning_resumes_timestamp_seconds",
    "When provisioning that is off comes back by itself, in Unix time; 0 where it is on.",
)
NODES_BOUGHT_TWICE: Final = _counter(
    "treenail_nodes_bought_twice_total",
    "Nodes whose pods were bought another one as well, which are given back.",
    "nodepool",
)
OTHER_CONTROLLERS: Final = _counter(
    "treenail_other_controller_claims_total",
    "Claims that another controller wrote while this one ran: there is to be one.",
    "nodepool",
)
PODS_NEVER_CAME: Final = _counter(
    "treenail_expected_pods_never_came_total",
    "Places that were found for pods which workloads were to make, and made no pods for in time.",
)
PODS_CAME: Final = _counter(
    "treenail_expected_pods_came_total",
    "Pods that took over places which were found for them before they were made.",
)
UNUSED_DOLLARS: Final = _counter(
    "treenail_expected_pods_unused_dollars_total",
    "Dollars that nodes for pods to come cost to which none of these came: from launch until other pods "
    "came, or the node went.",
    "nodepool",
)
BUFFER_PLACES: Final = _gauge(
    "treenail_capacity_buffer_places",
    "Places of a capacity buffer: on nodes in use (ready), on their way (coming), or not found (lacking).",
    *("buffer", "state"),
)
BUFFER_DOLLARS: Final = _gauge(
    "treenail_capacity_buffer_dollars_per_hour",
    "What the places of a capacity buffer cost, by the share of nodes that they take, in dollars per hour.",
    "buffer",
)
CLOCK_STEPS: Final = _counter(
    "treenail_clock_steps_total", "Times that the clock of the machine was set while we ran.", "direction"
)
CLOCK_OFFSET: Final = _gauge(
    "treenail_clock_offset_seconds", "How far the machine's clock is ahead of the time that is used."
)
INBOX_DEPTH: Final = _gauge("treenail_actor_inbox_depth", "Messages that wait for an actor.", "actor")
INBOX_DELAY: Final = _seconds(
    "treenail_actor_inbox_delay_seconds",
    "How long a message waits until its actor's turn comes, looked at every second.",
    "actor",
    buckets=FAST,
)
TIMER_DELAY: Final = _seconds("treenail_timer_delay_seconds", "How late timers ring.", buckets=FAST)
TASK_QUEUE_DEPTH: Final = _gauge(
    "treenail_task_queue_depth", "Calls to the outside that wait or are under way.", "port"
)
EVENTS_DROPPED: Final = _counter(
    "treenail_events_dropped_total", "Events not published, as too many others waited."
)
SOLVER_RESTARTS: Final = _counter(
    "treenail_solver_restarts_total", "Times that the packer's process was lost and made anew."
)
CONNECTIONS_CLOSED: Final = _counter(
    "treenail_connections_closed_total",
    "Connections to a port of ours that were closed as they were too slow, made no sense, or to make room.",
    *("port", "reason"),
)

METRICS: Final[tuple[Metric, ...]] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Metric)
)
BY_NAME: Final[dict[str, Metric]] = {metric.name: metric for metric in METRICS}
