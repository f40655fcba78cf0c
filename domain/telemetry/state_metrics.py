"""Metrics of the cluster's state: gauges that are computed from it. A series goes when its object goes.

Names and labels are Karpenter's. Where it has a series for each pod, or each condition of each node, there
is one for those that are alike, with their number as its value: sums are the same, and there are far fewer.
"""

from __future__ import annotations

from typing import Final

from treenail.domain.telemetry.metric import Metric, shown

# The labels by which dashboards tell nodes apart. Empty ones are left out.
NODE_LABELS: Final = (
    *("node_name", "nodepool", "zone", "region", "arch", "os", "capacity_type", "instance_type"),
    *("instance_category", "instance_family", "instance_generation", "instance_size"),
    *("instance_cpu", "instance_memory", "instance_network_bandwidth", "managed"),
)

# --- nodes

NODES_ALLOCATABLE: Final = shown(
    "karpenter_nodes_allocatable", "What pods may ask for on a node.", *NODE_LABELS, "resource_type"
)
NODES_POD_REQUESTS: Final = shown(
    "karpenter_nodes_total_pod_requests",
    "What the pods on a node ask for together, those of DaemonSets included.",
    *(*NODE_LABELS, "resource_type"),
)
NODES_POD_LIMITS: Final = shown(
    "karpenter_nodes_total_pod_limits",
    "The limits of the pods on a node together, those of DaemonSets included.",
    *(*NODE_LABELS, "resource_type"),
)
NODES_DAEMON_REQUESTS: Final = shown(
    "karpenter_nodes_total_daemon_requests",
    "What the pods of DaemonSets on a node ask for together.",
    *(*NODE_LABELS, "resource_type"),
)
NODES_DAEMON_LIMITS: Final = shown(
    "karpenter_nodes_total_daemon_limits",
    "The limits of the pods of DaemonSets on a node together.",
    *(*NODE_LABELS, "resource_type"),
)
NODES_OVERHEAD: Final = shown(
    "karpenter_nodes_system_overhead",
    "What kubelet and system keep of nodes: capacity less what is allocatable, summed over alike nodes.",
    *(*NODE_LABELS[1:], "resource_type"),
)
NODES_LIFETIME: Final = shown("karpenter_nodes_current_lifetime_seconds", "How old a node is.", *NODE_LABELS)
CLUSTER_UTILIZATION: Final = shown(
    "karpenter_cluster_utilization_percent",
    "The share of what is allocatable on all nodes that pods ask for, in percent.",
    "resource_type",
)

# --- pods

PODS_STATE: Final = shown(
    "karpenter_pods_state",
    "How many pods of a namespace on a node are in a phase; of those without a node too.",
    *("namespace", "node", "scheduled", "nodepool", "zone", "arch", "capacity_type", "instance_type"),
    *("phase", "ready", "managed"),
)
PODS_UNSTARTED: Final = shown(
    "karpenter_pods_unstarted_time_seconds",
    "How long ago a pod was created that is not ready yet, of the hundred oldest.",
    *("name", "namespace"),
)
PODS_UNBOUND: Final = shown(
    "karpenter_pods_unbound_time_seconds",
    "How long ago a pod was created that has no node yet, of the hundred oldest.",
    *("name", "namespace"),
)
PODS_PLACED_UNSTARTED: Final = shown(
    "karpenter_pods_provisioning_unstarted_time_seconds",
    "How long ago a place was found for a pod that is not ready yet, of the hundred oldest.",
    *("name", "namespace"),
)
PODS_PLACED_UNBOUND: Final = shown(
    "karpenter_pods_provisioning_unbound_time_seconds",
    "How long ago a place was found for a pod that has no node yet, of the hundred oldest.",
    *("name", "namespace"),
)
PODS_UNDECIDED: Final = shown(
    "karpenter_pods_provisioning_scheduling_undecided_time_seconds",
    "How long a pod has waited for a first decision, of the hundred oldest.",
    *("name", "namespace"),
)

# --- pools

NODEPOOLS_LIMIT: Final = shown(
    "karpenter_nodepools_limit", "What all nodes of a pool may have together.", "resource_type", "nodepool"
)
NODEPOOLS_USAGE: Final = shown(
    "karpenter_nodepools_usage", "What all nodes of a pool have together.", "resource_type", "nodepool"
)
NODEPOOLS_COST: Final = shown(
    "karpenter_nodepools_cost_total",
    "What the instances of a pool cost, in dollars per hour.",
    "nodepool",
)
ALLOWED_DISRUPTIONS: Final = shown(
    "karpenter_nodepools_allowed_disruptions",
    "How many nodes of a pool may be disrupted at a time by its budgets.",
    *("nodepool", "reason"),
)
CONSUMING_BUDGETS: Final = shown(
    "karpenter_nodepools_nodes_consuming_budgets",
    "How many nodes of a pool count against its budgets now.",
    *("nodepool", "reason"),
)
DISRUPTION_ELIGIBLE_NODES: Final = shown(
    "karpenter_voluntary_disruption_eligible_nodes", "Nodes that may be given back, by why.", "reason"
)

# --- scheduling

CLUSTER_STATE_UNSYNCED: Final = shown(
    "karpenter_cluster_state_unsynced_time_seconds",
    "For how long the model of the cluster has not held all that the API server has, 0 where it does.",
)
SCHEDULER_UNFINISHED: Final = shown(
    "karpenter_scheduler_unfinished_work_seconds",
    "How long the decision that is being made has taken so far.",
    "controller",
)
SCHEDULER_IGNORED: Final = shown(
    "karpenter_scheduler_ignored_pods_count",
    "Pods that wait for a node and cannot be understood, so that none is made for them.",
)
SCHEDULER_PENDING_BY_ZONE: Final = shown(
    "karpenter_scheduler_pending_pods_by_effective_zone_count",
    "Pods of the last decision by the zone they must be in: its name, flexible for several, or none.",
    *("controller", "zone"),
)

# --- instance types, on request

INSTANCE_TYPE_CPU: Final = shown(
    "karpenter_cloudprovider_instance_type_cpu_cores", "Cores of an instance type.", "instance_type"
)
INSTANCE_TYPE_MEMORY: Final = shown(
    "karpenter_cloudprovider_instance_type_memory_bytes", "Memory of an instance type.", "instance_type"
)
OFFERING_AVAILABLE: Final = shown(
    "karpenter_cloudprovider_instance_type_offering_available",
    "1 where an instance type can be bought in a zone, 0 where it ran out.",
    *("instance_type", "capacity_type", "zone"),
)
OFFERING_PRICE: Final = shown(
    "karpenter_cloudprovider_instance_type_offering_price_estimate",
    "What an instance type costs in a zone, in dollars per hour.",
    *("instance_type", "capacity_type", "zone"),
)

# --- node classes

USERDATA_BYTES: Final = shown(
    "karpenter_ec2nodeclasses_userdata_bytes",
    "How large the user data of a node class was when a launch template was last made of it.",
    "nodeclass",
)

# --- the process

BUILD_INFO: Final = shown(
    "karpenter_build_info", "1, with the version that runs.", "version", "goversion", "goarch", "commit"
)

STATE_METRICS: Final[tuple[Metric, ...]] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Metric)
)
