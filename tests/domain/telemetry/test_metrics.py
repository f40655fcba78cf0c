from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from treenail.domain.telemetry import metrics, state_metrics
from treenail.domain.telemetry.metric import Metric, MetricKind
from treenail.domain.telemetry.metrics import BY_NAME, METRICS
from treenail.domain.telemetry.state_metrics import NODE_LABELS

ROOT = Path(__file__).resolve().parents[3]
WRITTEN_BY = {"count": MetricKind.COUNTER, "gauge": MetricKind.GAUGE, "observe": MetricKind.HISTOGRAM}

# As Karpenter has them, so that its dashboards and alerts find what they look for. Its queue depth
# also has a label per decision, and its overhead of nodes their names (KIND is NODE without them): we leave
# both out.
KARPENTER = {
    "karpenter_nodeclaims_created_total": ("counter reason nodepool min_values_relaxed"),
    "karpenter_nodeclaims_terminated_total": ("counter nodepool capacity_type zone"),
    "karpenter_nodeclaims_disrupted_total": (
        "counter reason nodepool capacity_type consolidation_policy termination_mode"
    ),
    "karpenter_nodeclaims_unhealthy_disrupted_total": ("counter condition nodepool capacity_type image_id"),
    "karpenter_nodes_created_total": ("counter nodepool zone"),
    "karpenter_nodes_terminated_total": ("counter nodepool zone"),
    "karpenter_scheduler_scheduling_duration_seconds": ("histogram controller"),
    "karpenter_scheduler_queue_depth": ("gauge controller"),
    "karpenter_scheduler_unschedulable_pods_count": ("gauge controller"),
    "karpenter_cluster_state_node_count": ("gauge"),
    "karpenter_cluster_state_synced": ("gauge"),
    "karpenter_pods_bound_duration_seconds": ("histogram"),
    "karpenter_cloudprovider_duration_seconds": ("histogram controller method provider"),
    "karpenter_cloudprovider_errors_total": ("counter controller method provider error"),
    "karpenter_interruption_received_messages_total": ("counter message_type"),
    "karpenter_interruption_deleted_messages_total": ("counter"),
    "karpenter_interruption_instance_status_unhealthy_total": ("counter category"),
    "karpenter_voluntary_disruption_decisions_total": ("counter decision reason consolidation_type"),
    "karpenter_voluntary_disruption_decisions_by_nodepool_total": (
        "counter nodepool decision reason consolidation_type"
    ),
    "karpenter_voluntary_disruption_decision_evaluation_duration_seconds": (
        "histogram reason consolidation_type"
    ),
    "karpenter_voluntary_disruption_failed_validations_total": ("counter consolidation_type"),
    "karpenter_voluntary_disruption_queue_failures_total": ("counter decision reason consolidation_type"),
    "karpenter_consolidation_moves_total": ("counter decision nodepool policy"),
    "karpenter_consolidation_score": ("histogram decision nodepool policy"),
    "karpenter_nodes_termination_duration_seconds": ("summary nodepool"),
    "karpenter_nodes_drained_total": ("counter nodepool"),
    "karpenter_nodes_lifetime_duration_seconds": ("histogram nodepool"),
    "karpenter_nodeclaims_termination_duration_seconds": ("histogram nodepool"),
    "karpenter_nodeclaims_instance_termination_duration_seconds": ("histogram nodepool"),
    "karpenter_nodepools_cost_tracker_errors_total": ("counter nodepool"),
    "karpenter_pods_startup_duration_seconds": ("summary"),
    "karpenter_pods_scheduling_decision_duration_seconds": ("histogram"),
    "karpenter_pods_provisioning_bound_duration_seconds": ("histogram"),
    "karpenter_pods_provisioning_startup_duration_seconds": ("histogram"),
    "karpenter_pods_eviction_requests_total": ("counter code"),
    "karpenter_pods_drained_total": ("counter reason"),
    "karpenter_pods_disruption_initiated_total": (
        "counter reason nodepool capacity_type consolidation_policy termination_mode"
    ),
    "karpenter_voluntary_disruption_consolidation_timeouts_total": ("counter consolidation_type"),
    "karpenter_cloudprovider_instance_launch_failures_total": ("counter zone zone_id capacity_type reason"),
    "karpenter_cloudprovider_instance_termination_failures_total": ("counter zone zone_id"),
    "karpenter_cloudprovider_batcher_batch_time_seconds": ("histogram batcher"),
    "karpenter_cloudprovider_batcher_batch_size": ("histogram batcher"),
    "karpenter_interruption_message_queue_duration_seconds": ("histogram"),
    "karpenter_nodes_allocatable": ("gauge NODE resource_type"),
    "karpenter_nodes_total_pod_requests": ("gauge NODE resource_type"),
    "karpenter_nodes_total_pod_limits": ("gauge NODE resource_type"),
    "karpenter_nodes_total_daemon_requests": ("gauge NODE resource_type"),
    "karpenter_nodes_total_daemon_limits": ("gauge NODE resource_type"),
    "karpenter_nodes_system_overhead": ("gauge KIND resource_type"),
    "karpenter_nodes_current_lifetime_seconds": ("gauge NODE"),
    "karpenter_cluster_utilization_percent": ("gauge resource_type"),
    "karpenter_pods_state": (
        "gauge namespace node scheduled nodepool zone arch capacity_type instance_type phase ready managed"
    ),
    "karpenter_pods_unstarted_time_seconds": ("gauge name namespace"),
    "karpenter_pods_unbound_time_seconds": ("gauge name namespace"),
    "karpenter_pods_provisioning_unstarted_time_seconds": ("gauge name namespace"),
    "karpenter_pods_provisioning_unbound_time_seconds": ("gauge name namespace"),
    "karpenter_pods_provisioning_scheduling_undecided_time_seconds": ("gauge name namespace"),
    "karpenter_nodepools_limit": ("gauge resource_type nodepool"),
    "karpenter_nodepools_usage": ("gauge resource_type nodepool"),
    "karpenter_nodepools_cost_total": ("gauge nodepool"),
    "karpenter_nodepools_allowed_disruptions": ("gauge nodepool reason"),
    "karpenter_nodepools_nodes_consuming_budgets": ("gauge nodepool reason"),
    "karpenter_voluntary_disruption_eligible_nodes": ("gauge reason"),
    "karpenter_cluster_state_unsynced_time_seconds": ("gauge"),
    "karpenter_scheduler_unfinished_work_seconds": ("gauge controller"),
    "karpenter_scheduler_ignored_pods_count": ("gauge"),
    "karpenter_scheduler_pending_pods_by_effective_zone_count": ("gauge controller zone"),
    "karpenter_cloudprovider_instance_type_cpu_cores": ("gauge instance_type"),
    "karpenter_cloudprovider_instance_type_memory_bytes": ("gauge instance_type"),
    "karpenter_cloudprovider_instance_type_offering_available": ("gauge instance_type capacity_type zone"),
    "karpenter_cloudprovider_instance_type_offering_price_estimate": (
        "gauge instance_type capacity_type zone"
    ),
    "karpenter_ec2nodeclasses_userdata_bytes": ("gauge nodeclass"),
    "karpenter_build_info": ("gauge version goversion goarch commit"),
    "operator_nodeclaim_status_condition_count": (
        "gauge name type status reason karpenter_k8s_aws_ec2nodeclass karpenter_sh_nodepool"
    ),
    "operator_nodeclaim_status_condition_current_status_seconds": (
        "gauge name type status reason karpenter_k8s_aws_ec2nodeclass karpenter_sh_nodepool"
    ),
    "operator_nodeclaim_status_condition_transitions_total": (
        "counter type status reason karpenter_k8s_aws_ec2nodeclass karpenter_sh_nodepool"
    ),
    "operator_nodeclaim_status_condition_transition_seconds": (
        "histogram type status karpenter_k8s_aws_ec2nodeclass karpenter_sh_nodepool"
    ),
    "operator_nodeclaim_termination_current_time_seconds": (
        "gauge name karpenter_k8s_aws_ec2nodeclass karpenter_sh_nodepool"
    ),
    "operator_nodeclaim_termination_duration_seconds": (
        "histogram karpenter_k8s_aws_ec2nodeclass karpenter_sh_nodepool"
    ),
    "operator_nodepool_status_condition_count": ("gauge name type status reason"),
    "operator_nodepool_status_condition_current_status_seconds": ("gauge name type status reason"),
    "operator_nodepool_status_condition_transitions_total": ("counter type status reason"),
    "operator_nodepool_status_condition_transition_seconds": ("histogram type status"),
    "operator_nodepool_termination_current_time_seconds": ("gauge name"),
    "operator_nodepool_termination_duration_seconds": ("histogram"),
    "operator_node_status_condition_count": (
        "gauge name type status reason karpenter_k8s_aws_ec2nodeclass "
        "karpenter_sh_nodepool karpenter_sh_initialized"
    ),
    "operator_node_status_condition_current_status_seconds": (
        "gauge name type status reason karpenter_k8s_aws_ec2nodeclass "
        "karpenter_sh_nodepool karpenter_sh_initialized"
    ),
    "operator_node_status_condition_transitions_total": (
        "counter type status reason karpenter_k8s_aws_ec2nodeclass karpenter_sh_nodepool "
        "karpenter_sh_initialized"
    ),
    "operator_node_status_condition_transition_seconds": (
        "histogram type status karpenter_k8s_aws_ec2nodeclass karpenter_sh_nodepool karpenter_sh_initialized"
    ),
    "operator_node_termination_current_time_seconds": (
        "gauge name karpenter_k8s_aws_ec2nodeclass karpenter_sh_nodepool karpenter_sh_initialized"
    ),
    "operator_node_termination_duration_seconds": (
        "histogram karpenter_k8s_aws_ec2nodeclass karpenter_sh_nodepool karpenter_sh_initialized"
    ),
    "operator_ec2nodeclass_status_condition_count": ("gauge name type status reason"),
    "operator_ec2nodeclass_status_condition_current_status_seconds": ("gauge name type status reason"),
    "operator_ec2nodeclass_status_condition_transitions_total": ("counter type status reason"),
    "operator_ec2nodeclass_status_condition_transition_seconds": ("histogram type status"),
    "operator_ec2nodeclass_termination_current_time_seconds": ("gauge name"),
    "operator_ec2nodeclass_termination_duration_seconds": ("histogram"),
    "operator_status_condition_count": ("gauge name type status reason group kind"),
    "operator_status_condition_current_status_seconds": ("gauge name type status reason group kind"),
    "operator_status_condition_transitions_total": ("counter type status reason group kind"),
    "operator_status_condition_transition_seconds": ("histogram type status group kind"),
    "operator_termination_current_time_seconds": ("gauge name group kind"),
    "operator_termination_duration_seconds": ("histogram group kind"),
}


def test_no_two_metrics_share_a_name() -> None:
    assert len(METRICS) == len(BY_NAME) > len(KARPENTER)


def test_metrics_of_karpenter_are_as_it_has_them() -> None:
    nodes, alike = " ".join(NODE_LABELS), " ".join(NODE_LABELS[1:])
    ours = {
        m.name: " ".join((m.kind.value, *m.labels)).replace(nodes, "NODE").replace(alike, "KIND")
        for m in METRICS
        if m.name.startswith(("karpenter_", "operator_"))
    }

    assert ours == KARPENTER


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_well_formed(metric: Metric) -> None:
    assert re.fullmatch(r"(karpenter|treenail|operator|leader_election)(_[a-z][a-z0-9]*)+", metric.name)
    # Karpenter calls a gauge so, too.
    assert metric.name.endswith("_total") == (
        metric.kind is MetricKind.COUNTER or metric is state_metrics.NODEPOOLS_COST
    )
    assert metric.name.endswith("_seconds") == (metric.unit == "seconds")
    assert all(re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", label) for label in metric.labels)
    assert len(set(metric.labels)) == len(metric.labels)
    assert not set(metric.labels) & {"le", "quantile", "pod", "decision_id", "trace_id"}
    assert metric.help.endswith(".")
    assert bool(metric.buckets) == (metric.kind is MetricKind.HISTOGRAM)
    assert list(metric.buckets) == sorted(set(metric.buckets))


def test_what_only_grows_never_names_an_object() -> None:
    # Its series stay until the process ends. The lease is named as controller-runtime does.
    lasting = [metric for metric in METRICS if not metric.shown and metric is not metrics.LEADER]

    assert [m.name for m in lasting if {"name", "namespace", "node", "node_name"} & set(m.labels)] == []


def test_a_metric_accepts_its_own_kind_and_labels_alone() -> None:
    created = metrics.NODES_CREATED

    assert created.accepts(MetricKind.COUNTER, ["zone", "nodepool"])
    assert not created.accepts(MetricKind.GAUGE, ["zone", "nodepool"])
    assert not created.accepts(MetricKind.COUNTER, ["zone"])
    assert not created.accepts(MetricKind.COUNTER, ["zone", "nodepool", "pod"])


def metric_name(argument: ast.expr) -> str:
    """Return the metric's name that an argument writes, as text or as `metrics.NODES_CREATED.name`."""
    match argument:
        case ast.Constant(value=str(name)):
            return name
        case ast.Attribute(attr="name", value=ast.Attribute(attr=constant) | ast.Name(id=constant)):
            declared = getattr(metrics, constant, None)
            return declared.name if isinstance(declared, Metric) else ""
        case _:
            return ""


def writes(tree: ast.AST) -> Iterator[tuple[str, str, list[str | None]]]:
    """Yield every write to telemetry whose metric stands in the source: how, its name, the labels given."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=how), args=[first, *_]) if how in WRITTEN_BY:
                name = metric_name(first)
                if name.startswith(("karpenter_", "treenail_")):
                    yield how, name, [keyword.arg for keyword in node.keywords]


def test_a_write_is_found_however_its_metric_is_named() -> None:
    source = """
self._telemetry.count("karpenter_x_total", zone="a", **more)
telemetry.gauge(metrics.SCHEDULER_QUEUE_DEPTH.name, 1, controller="a")
telemetry.observe(PODS_BOUND_DURATION.name, 1)
telemetry.count(name)
words.count("a")
"""

    assert list(writes(ast.parse(source))) == [
        ("count", "karpenter_x_total", ["zone", None]),
        ("gauge", "karpenter_scheduler_queue_depth", ["controller"]),
        ("observe", "karpenter_pods_bound_duration_seconds", []),
    ]


def test_whatever_the_code_writes_is_declared() -> None:
    wrong: list[str] = []
    for path in sorted(p for folder in ("actors", "adapters") for p in (ROOT / folder).rglob("*.py")):
        if path.parent == ROOT / "adapters" / "telemetry":
            continue  # beneath the port labels travel as a dictionary
        for how, name, labels in writes(ast.parse(path.read_text())):
            metric = BY_NAME.get(name)
            given = [label for label in labels if label is not None]
            # A label by ** cannot be read from the source.
            complete = len(given) == len(labels)
            if metric is None or (complete and not metric.accepts(WRITTEN_BY[how], given)):
                wrong.append(f"{path.relative_to(ROOT)}: {how} {name} {given}")

    assert wrong == []


def test_every_metric_declared_is_written_somewhere() -> None:
    root = Path(__file__).parents[3]
    declaring = {"metrics.py", "state_metrics.py"}
    paths = [p for d in ("actors", "adapters", "domain") for p in (root / d).rglob("*.py")]
    source = "".join(p.read_text() for p in paths if p.name not in declaring)
    declared = {**vars(metrics), **vars(state_metrics)}
    names = {name: value for name, value in declared.items() if isinstance(value, Metric)}

    silent = [name for name, metric in names.items() if name not in source and metric.name not in source]

    assert silent == []
