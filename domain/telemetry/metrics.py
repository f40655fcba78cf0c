"""Metrics of what happens, each declared once. Those of Karpenter keep its names and labels.

A label here never holds a pod's name or a decision's id: the number of series grows with pools, zones and
instance types, not with work done. `state_metrics` and `condition_metrics` declare what is computed from the
cluster's state; `METRICS` are all.
"""

from __future__ import annotations

from typing import Final

from treenail.domain.telemetry.condition_metrics import CONDITION_METRICS
from treenail.domain.telemetry.metric import FAST, Metric, MetricKind, counter, gauge, seconds, summary
from treenail.domain.telemetry.state_metrics import STATE_METRICS

NODECLAIMS_CREATED: Final = counter(
    "karpenter_nodeclaims_created_total",
    "Claims on nodes that were written, by why.",
    *("reason", "nodepool", "min_values_relaxed"),
)
NODECLAIMS_TERMINATED: Final = counter(
    "karpenter_nodeclaims_terminated_total",
    "Claims on nodes that are gone, and their instances with them.",
    *("nodepool", "capacity_type", "zone"),
)
NODECLAIMS_DISRUPTED: Final = counter(
    "karpenter_nodeclaims_disrupted_total",
    "Claims on nodes that we began to give back, by why.",
    *("reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),
)
NODECLAIMS_UNHEALTHY: Final = counter(
    "karpenter_nodeclaims_unhealthy_disrupted_total",
    "Claims on nodes that were given up because their nodes were unhealthy, by the condition that said so.",
    *("condition", "nodepool", "capacity_type", "image_id"),
)
NODES_CREATED: Final = counter("karpenter_nodes_created_total", "Nodes that registered.", "nodepool", "zone")
NODES_TERMINATED: Final = counter(
    "karpenter_nodes_terminated_total", "Nodes that are gone after a drain.", "nodepool", "zone"
)
SCHEDULING_DURATION: Final = seconds(
    "karpenter_scheduler_scheduling_duration_seconds",
    "How long it took to decide where pods go.",
    "controller",
)
SCHEDULER_QUEUE_DEPTH: Final = gauge(
    "karpenter_scheduler_queue_depth", "Pods that wait for the decision being made.", "controller"
)
UNSCHEDULABLE_PODS: Final = gauge(
    "karpenter_scheduler_unschedulable_pods_count",
    "Pods that the last decision found no place for.",
    "controller",
)
CLUSTER_STATE_NODES: Final = gauge(
    "karpenter_cluster_state_node_count", "Nodes and claims in the model of the cluster."
)
CLUSTER_STATE_SYNCED: Final = gauge(
    "karpenter_cluster_state_synced",
    "1 once the model of the cluster holds all that the API server has, else 0.",
)
PODS_BOUND_DURATION: Final = seconds(
    "karpenter_pods_bound_duration_seconds", "From a pod's creation until it is bound to a node."
)
CLOUDPROVIDER_DURATION: Final = seconds(
    "karpenter_cloudprovider_duration_seconds",
    "How long calls to the cloud took.",
    *("controller", "method", "provider"),
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
CLOUDPROVIDER_ERRORS: Final = counter(
    "karpenter_cloudprovider_errors_total",
    "Calls to the cloud that failed, by error.",
    *("controller", "method", "provider", "error"),
)
INTERRUPTION_RECEIVED: Final = counter(
    "karpenter_interruption_received_messages_total",
    "Messages received from the interruption queue.",
    "message_type",
)
INTERRUPTION_DELETED: Final = counter(
    "karpenter_interruption_deleted_messages_total", "Messages deleted from the interruption queue."
)
INSTANCE_STATUS_UNHEALTHY: Final = counter(
    "karpenter_interruption_instance_status_unhealthy_total",
    "Instances whose status EC2 found to be unhealthy, by what it is.",
    "category",
)
REPAIRS_HELD: Final = counter(
    "treenail_node_repairs_held_total",
    "Times that an unwell node was not given up yet, as too many of its pool or zone go already.",
    "nodepool",
    "cause",
)
DISRUPTION_DECISIONS: Final = counter(
    "karpenter_voluntary_disruption_decisions_total",
    "Decisions to give nodes back, by what was decided and why.",
    *("decision", "reason", "consolidation_type"),
)
DISRUPTION_DECISIONS_BY_POOL: Final = counter(
    "karpenter_voluntary_disruption_decisions_by_nodepool_total",
    "Decisions to give nodes back, by what was decided and why, once for each pool of the nodes.",
    *("nodepool", "decision", "reason", "consolidation_type"),
)
DISRUPTION_EVALUATION_DURATION: Final = seconds(
    "karpenter_voluntary_disruption_decision_evaluation_duration_seconds",
    "How long it took to find out which nodes may be given back.",
    *("reason", "consolidation_type"),
)
DISRUPTION_FAILED_VALIDATIONS: Final = counter(
    "karpenter_voluntary_disruption_failed_validations_total",
    "Nodes of consolidation moves that were proposed and refused, for whatever reason.",
    "consolidation_type",
)
DISRUPTION_QUEUE_FAILURES: Final = counter(
    "karpenter_voluntary_disruption_queue_failures_total",
    "Moves that were begun and taken back.",
    *("decision", "reason", "consolidation_type"),
)
CONSOLIDATION_MOVES: Final = counter(
    "karpenter_consolidation_moves_total",
    "Moves found (approved), each time one is to be proposed, and nodes whose move Balanced rejects.",
    *("decision", "nodepool", "policy"),
)
CONSOLIDATION_SCORE: Final = Metric(
    name="karpenter_consolidation_score",
    kind=MetricKind.HISTOGRAM,
    help="Scores of moves of pools whose policy is Balanced: approved from 0.5 on.",
    labels=("decision", "nodepool", "policy"),
    buckets=(0.1, 0.25, 0.33, 0.5, 1.0, 2.0, 5.0, 10.0),
)
CONSOLIDATION_REJECTED: Final = counter(
    "treenail_consolidation_rejected_total",
    "Moves that were proposed and not begun, by the kind of what spoke against it.",
    "reason",
)
CONSOLIDATION_SAVED: Final = counter(
    "treenail_consolidation_saved_dollars_per_hour_total",
    "What finished moves save, at launched prices, in dollars per hour, by the pool of the nodes that went. "
    "Nodes that go as empty are not counted.",
    "nodepool",
)
CONSOLIDATION_LOOPS: Final = counter(
    "treenail_consolidation_loops_total",
    "Moves that were not made as they would have undone one of the last six hours.",
)

DRIFT_HELD_BACK: Final = counter(
    "treenail_drift_held_back_total",
    "Times that a new node drifted at once, so that drifted nodes were not replaced for a while.",
    *("nodepool", "reason"),
)
DECISION_PHASE_DURATION: Final = seconds(
    "treenail_decision_phase_duration_seconds",
    "How long each phase of a decision took, from batch to bind.",
    "phase",
)
SPANS_RECORDED: Final = counter("treenail_spans_recorded_total", "Spans taken to be exported.")
SPANS_DROPPED: Final = counter("treenail_spans_dropped_total", "Spans lost, by where.", "reason")
PODS_BOUND_EARLY: Final = counter(
    "treenail_pods_bound_early_total", "Pods bound to a node before its machine joined.", "nodepool"
)
OBJECTS_SET_ASIDE: Final = counter(
    "treenail_objects_set_aside_total", "Objects that could not be understood or handled.", "kind"
)
METRICS_REFUSED: Final = counter(
    "treenail_metrics_refused_total", "Values that were written to no metric declared here: a defect."
)
LEADER: Final = gauge(
    "leader_election_master_status", "1 where this replica holds the lease of that name, else 0.", "name"
)
PROVISIONING_ENABLED: Final = gauge(
    "treenail_provisioning_enabled", "1 where nodes are bought, 0 after too many failures in a row."
)
PROVISIONING_RESUMES: Final = gauge(
    "treenail_provisioning_resumes_timestamp_seconds",
    "When provisioning that is off comes back by itself, in Unix time; 0 where it is on.",
)
NODES_BOUGHT_TWICE: Final = counter(
    "treenail_nodes_bought_twice_total",
    "Nodes whose pods were bought another one as well, which are given back.",
    "nodepool",
)
OTHER_CONTROLLERS: Final = counter(
    "treenail_other_controller_claims_total",
    "Claims that another controller wrote while this one ran: there is to be one.",
    "nodepool",
)
PODS_NEVER_CAME: Final = counter(
    "treenail_expected_pods_never_came_total",
    "Places that were found for pods which workloads were to make, and made no pods for in time.",
)
PODS_CAME: Final = counter(
    "treenail_expected_pods_came_total",
    "Pods that took over places which were found for them before they were made.",
)
UNUSED_DOLLARS: Final = counter(
    "treenail_expected_pods_unused_dollars_total",
    "Dollars that nodes for pods to come cost to which none of these came: from launch until other pods "
    "came, or its machine was ended.",
    "nodepool",
)
BUFFER_PLACES: Final = gauge(
    "treenail_capacity_buffer_places",
    "Places of a capacity buffer: on nodes in use (ready), on their way (coming), or not found (lacking).",
    *("buffer", "state"),
)
BUFFER_DOLLARS: Final = gauge(
    "treenail_capacity_buffer_dollars_per_hour",
    "What the places of a capacity buffer cost, by the share of nodes that they take, in dollars per hour.",
    "buffer",
)
CLOCK_STEPS: Final = counter(
    "treenail_clock_steps_total", "Times that the clock of the machine was set while we ran.", "direction"
)
CLOCK_OFFSET: Final = gauge(
    "treenail_clock_offset_seconds", "How far the machine's clock is ahead of the time that is used."
)
INBOX_DEPTH: Final = gauge("treenail_actor_inbox_depth", "Messages that wait for an actor.", "actor")
INBOX_DELAY: Final = seconds(
    "treenail_actor_inbox_delay_seconds",
    "How long a message waits until its actor's turn comes, looked at every second.",
    "actor",
    buckets=FAST,
)
TIMER_DELAY: Final = seconds("treenail_timer_delay_seconds", "How late timers ring.", buckets=FAST)
TASK_QUEUE_DEPTH: Final = gauge(
    "treenail_task_queue_depth", "Calls to the outside that wait or are under way.", "port"
)
EVENTS_DROPPED: Final = counter(
    "treenail_events_dropped_total", "Events not published, as too many others waited."
)
SOLVER_RESTARTS: Final = counter(
    "treenail_solver_restarts_total", "Times that the packer's process was lost and made anew."
)
CONNECTIONS_CLOSED: Final = counter(
    "treenail_connections_closed_total",
    "Connections to a port of ours that were closed as they were too slow, made no sense, or to make room.",
    *("port", "reason"),
)

# --- nodes and claims that go, seen from outside


def _histogram(
    name: str, about: str, *labels: str, buckets: tuple[float, ...], unit: str = "seconds"
) -> Metric:
    return Metric(name=name, kind=MetricKind.HISTOGRAM, help=about, labels=labels, buckets=buckets, unit=unit)


_MINUTES: Final = tuple(60.0 * n for n in (15, 30, 45))
_HOURS: Final = tuple(
    3600.0 * n for n in (1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 48, 72, 120, 240, 360, 480, 600, 720)
)
_SIZES: Final = (
    *(
        1.0,
        2.0,
        4.0,
        5.0,
        10.0,
        15.0,
        20.0,
        25.0,
        30.0,
        40.0,
        50.0,
        60.0,
        70.0,
        80.0,
        90.0,
        100.0,
        125.0,
        150.0,
    ),
    *(
        175.0,
        200.0,
        225.0,
        250.0,
        275.0,
        300.0,
        350.0,
        400.0,
        450.0,
        500.0,
        550.0,
        600.0,
        700.0,
        800.0,
        900.0,
    ),
    1000.0,
)

NODES_TERMINATION_DURATION: Final = summary(
    "karpenter_nodes_termination_duration_seconds", "From a node's deletion until it was gone.", "nodepool"
)
NODES_DRAINED: Final = counter("karpenter_nodes_drained_total", "Nodes that were drained.", "nodepool")
NODES_LIFETIME_DURATION: Final = _histogram(
    "karpenter_nodes_lifetime_duration_seconds",
    "From a node's creation until it was gone.",
    "nodepool",
    buckets=(*_MINUTES, *_HOURS),
)
NODECLAIMS_TERMINATION_DURATION: Final = _histogram(
    "karpenter_nodeclaims_termination_duration_seconds",
    "From a claim's deletion until it was gone.",
    "nodepool",
    buckets=tuple(2.0**n for n in range(12)),
)
INSTANCE_TERMINATION_DURATION: Final = _histogram(
    "karpenter_nodeclaims_instance_termination_duration_seconds",
    "From the request to terminate an instance until it was gone.",
    "nodepool",
    buckets=tuple(2.0**n for n in range(11)),
)
NODEPOOLS_COST_ERRORS: Final = counter(
    "karpenter_nodepools_cost_tracker_errors_total",
    "Claims that were launched and do not say what they cost.",
    "nodepool",
)
PODS_STARTUP_DURATION: Final = summary(
    "karpenter_pods_startup_duration_seconds", "From a pod's creation until it is ready."
)
PODS_DECISION_DURATION: Final = seconds(
    "karpenter_pods_scheduling_decision_duration_seconds",
    "From when a pod was first seen to wait until the first decision on it.",
)
PODS_PLACED_BOUND_DURATION: Final = seconds(
    "karpenter_pods_provisioning_bound_duration_seconds",
    "From when a place was found for a pod until it is bound to a node.",
)
PODS_PLACED_STARTUP_DURATION: Final = seconds(
    "karpenter_pods_provisioning_startup_duration_seconds",
    "From when a place was found for a pod until it is ready.",
)
PODS_EVICTION_REQUESTS: Final = counter(
    "karpenter_pods_eviction_requests_total", "Evictions asked for, by the code of the answer.", "code"
)
PODS_DRAINED: Final = counter(
    "karpenter_pods_drained_total",
    "Pods that were evicted or deleted as their node goes, by why it goes.",
    "reason",
)
PODS_DISRUPTED: Final = counter(
    "karpenter_pods_disruption_initiated_total",
    "Pods that must go elsewhere, counted when their node's claim is given back.",
    *("reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),
)
CONSOLIDATION_TIMEOUTS: Final = counter(
    "karpenter_voluntary_disruption_consolidation_timeouts_total",
    "Searches for moves that ended before all merges were tried.",
    "consolidation_type",
)
LAUNCH_FAILURES: Final = counter(
    "karpenter_cloudprovider_instance_launch_failures_total",
    "Offerings that EC2 gave no instance of, by its error.",
    *("zone", "zone_id", "capacity_type", "reason"),
)
TERMINATION_FAILURES: Final = counter(
    "karpenter_cloudprovider_instance_termination_failures_total",
    "Instances that could not be terminated when it was asked for.",
    *("zone", "zone_id"),
)
BATCH_SECONDS: Final = seconds(
    "karpenter_cloudprovider_batcher_batch_time_seconds",
    "How long what is asked of EC2 waits for more to ask for with it.",
    "batcher",
)
BATCH_SIZE: Final = _histogram(
    "karpenter_cloudprovider_batcher_batch_size",
    "How many instances a call to EC2 is about.",
    "batcher",
    buckets=_SIZES,
    unit="",
)
INTERRUPTION_QUEUED: Final = seconds(
    "karpenter_interruption_message_queue_duration_seconds",
    "From when a warning was sent until it was received.",
)

METRICS: Final[tuple[Metric, ...]] = (
    *(value for value in tuple(globals().values()) if isinstance(value, Metric)),
    *STATE_METRICS,
    *CONDITION_METRICS,
)
BY_NAME: Final[dict[str, Metric]] = {metric.name: metric for metric in METRICS}
_STATE: Final = (
    "karpenter_cluster_utilization",
    "karpenter_nodepools_",
    "karpenter_nodes_",
    "karpenter_pods_",
)
_BUDGETS: Final = ("karpenter_nodepools_allowed_disruptions", "karpenter_nodepools_nodes_consuming_budgets")
# Those of nodes, pods, pools and conditions, which Karpenter too can do without.
OF_CLUSTER_STATE: Final = frozenset(
    one.name
    for one in (*STATE_METRICS, *CONDITION_METRICS)
    if one.name.startswith((*_STATE, "operator_")) and one.name not in _BUDGETS
)
