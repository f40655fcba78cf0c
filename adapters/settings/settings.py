"""All settings of the controller, each a variable and an option of the same name."""
# ruff: noqa: RUF009 (each call declares a field)

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from treenail.adapters.api.amounts import dollars_an_hour
from treenail.adapters.settings import values
from treenail.adapters.settings.scheduler_config import default_spread
from treenail.adapters.settings.unsupported_settings import GATES
from treenail.domain.interruption.notice_responses import Response
from treenail.domain.model.pods import TopologySpread
from treenail.domain.packing.problem import (
    NODE_OVERHEAD_COST,
    MinValuesPolicy,
    Packing,
    PackingOrder,
    PreferencePolicy,
)

# Nothing secret is kept there, and a container may have no other place to write to.
_STATE_DIRECTORY: Final = "/tmp/treenail"  # noqa: S108


class CloudName(StrEnum):
    """Clouds that nodes come from."""

    EC2 = "ec2"
    KWOK = "kwok"


class ConsolidationMode(StrEnum):
    """Modes of consolidation: make the planned moves, only report them, or plan none."""

    ON = "on"
    PLAN = "plan"
    OFF = "off"


class ProvisionFor(StrEnum):
    """Pods that nodes are bought for: also those that workloads are still to make, or only existing ones."""

    WISHES = "wishes"
    PODS = "pods"


class LogLevel(StrEnum):
    """The least important log lines that are written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class TraceSampler(StrEnum):
    """Samplers, which choose the traces to export, by their names in the SDK of OpenTelemetry."""

    ALWAYS_ON = "always_on"
    ALWAYS_OFF = "always_off"
    RATIO = "traceidratio"
    PARENT_OR_ALWAYS_ON = "parentbased_always_on"
    PARENT_OR_ALWAYS_OFF = "parentbased_always_off"
    PARENT_OR_RATIO = "parentbased_traceidratio"


def _variable(default: str, read: Callable[[str], Any], about: str) -> Any:  # noqa: ANN401 (any setting)
    """Declare a setting: its default as it would be written, how it is read, and what it is about."""
    return field(metadata={"default": default, "read": read, "about": about})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that are acted on. The variable of a field is its name in capitals; times in seconds.

    `election_wanted` says whether a leader is to be elected.
    `warnings` say which variables were set that change nothing, one line each.
    """

    cluster_name: str = _variable("", values.cluster, "The cluster's name. It must be given.")
    cloud: CloudName = _variable(
        "ec2", values.one_of(CloudName), "Where nodes come from: `ec2`, or `kwok` for nodes without machines."
    )
    kubeconfig: str = _variable(
        "",
        values.text,
        "The kubeconfig of the cluster, or several, merged as by kubectl; without it, the pod's service"
        " account is used.",
    )
    kube_context: str = _variable("", values.text, "The context of that file; without it, the current one.")
    system_namespace: str = _variable(
        "",
        values.namespace,
        "The namespace of the ConfigMap `karpenter-global-settings`, of the Secret `treenail-webhook` and of"
        " the Service `KARPENTER_SERVICE`; without it, the pod's own. Outside of a pod also that of the"
        " Lease, where `LEADER_ELECTION_NAMESPACE` is empty.",
    )
    leader_election_name: str = _variable(
        "karpenter-leader-election",
        values.object_name,
        "The Lease for the election of one replica. It is Karpenter's, so that the two wait for each other.",
    )
    leader_election_namespace: str = _variable(
        "", values.namespace, "The namespace of that Lease; without it, the pod's own."
    )
    disable_leader_election: bool = _variable(
        "false",
        values.boolean,
        "`true` turns the election off: then run one replica, and no Karpenter.",
    )
    kube_client_qps: float = _variable("200", values.positive, "Writes to the API server a second.")
    kube_client_burst: int = _variable("300", values.natural, "Writes to the API server at once.")
    cluster_endpoint: str = _variable("", values.url, "The API server, for nodes; without it, EKS is asked.")
    cluster_ca_bundle: str = _variable(
        "",
        values.certificates,
        "The API server's certificate authority (base64), for nodes; without it, EKS is asked.",
    )
    interruption_queue: str = _variable(
        "", values.text, "The SQS queue of EC2's warnings; without it, none is received."
    )
    on_spot_interruption: Response = _variable(
        "act",
        values.one_of(Response),
        "What to do about a spot interruption: `act` (give the node back), or only `record` it.",
    )
    on_rebalance_recommendation: Response = _variable(
        "record",
        values.one_of(Response),
        "The same, when EC2 says that it will probably take a spot instance.",
    )
    on_scheduled_change: Response = _variable(
        "act", values.one_of(Response), "The same, for changes of instances that AWS Health announces."
    )
    on_instance_state_change: Response = _variable(
        "act", values.one_of(Response), "The same, for instances that stop or are terminated."
    )
    on_capacity_reservation_interruption: Response = _variable(
        "act",
        values.one_of(Response),
        "The same, for instances in reserved capacity that the owner takes back.",
    )
    on_impaired_status: Response = _variable(
        "act",
        values.one_of(Response),
        "The same, for instances that fail EC2's status checks for two minutes.",
    )
    delete_pods_at_deadline: bool = _variable(
        "true",
        values.boolean,
        "Whether even protected pods are deleted shortly before EC2 takes their machine.",
    )
    aws_region: str = _variable("", values.text, "The region; without it, boto3's own sources are used.")
    aws_default_instance_profile: str = _variable(
        "", values.text, "The instance profile of node classes that name neither a profile nor a role."
    )
    aws_tags: Mapping[str, str] = _variable(
        "",
        values.tags,
        "Tags of everything that is launched, as a JSON object; tags of a node class come before them.",
    )
    isolated_vpc: bool = _variable("false", values.boolean, "`true` if AWS's price list cannot be reached.")
    vm_memory_overhead_percent: float = _variable(
        "0.075", values.share, "The share of memory that hypervisor and kernel keep, as a fraction."
    )
    reserved_enis: int = _variable("0", values.natural, "Network interfaces that carry no pods.")
    ami_refresh_interval: float = _variable(
        "1m", values.minutes, "How long the images that a node class selects are cached. At least a minute."
    )
    subnet_refresh_interval: float = _variable(
        "1m", values.minutes, "How long the subnets that a node class selects are cached. At least a minute."
    )
    eks_control_plane: bool = _variable(
        "false",
        values.boolean,
        "Whether EKS, not the API server, is asked for the version of Kubernetes for images.",
    )
    disable_dry_run: bool = _variable(
        "false",
        values.boolean,
        "`true` turns off the dry runs by which it is found whether a node class may be launched from.",
    )
    price_overrides_file: str = _variable(
        "", values.text, "The file with your own prices; without it, AWS's published prices are used."
    )
    batch_idle_duration: float = _variable(
        "1s", values.seconds, "The time from the last new pod to the end of a batch."
    )
    batch_max_duration: float = _variable(
        "10s", values.seconds, "The longest time from the first pod to the end of a batch."
    )
    provision_for: ProvisionFor = _variable(
        "wishes",
        values.one_of(ProvisionFor),
        "Whether nodes are also made for pods that workloads are still to make: `wishes`, or `pods` if not.",
    )
    early_binding: bool = _variable(
        "false", values.boolean, "Whether pods are bound to a node as soon as its instance is bought."
    )
    packing: Packing = _variable(
        "cheapest", values.one_of(Packing), "How node sizes are chosen: `cheapest` or `first-fit-descending`."
    )
    packing_order: PackingOrder = _variable(
        "cpu",
        values.one_of(PackingOrder),
        "The size by which first-fit-descending sorts: `cpu`, `memory` or `euclidean`.",
    )
    preference_policy: PreferencePolicy = _variable(
        "Respect",
        values.one_of(PreferencePolicy),
        "Whether preferences of pods are met if possible: `Respect` or `Ignore`.",
    )
    min_values_policy: MinValuesPolicy = _variable(
        "Strict",
        values.one_of(MinValuesPolicy),
        "Whether a node must leave the choice that `minValues` ask for: `Strict` or `BestEffort`.",
    )
    scheduler_config: tuple[TopologySpread, ...] = _variable(
        "",
        default_spread,
        "What the cluster's scheduler is set to, as YAML: `podTopologySpread.defaultConstraints`.",
    )
    node_overhead_cost: float = _variable(
        str(NODE_OVERHEAD_COST),
        dollars_an_hour,
        "The cost of a node beside its price and its volumes, in $/h; a pool may have its own.",
    )
    consolidation: ConsolidationMode = _variable(
        "on",
        values.switch(ConsolidationMode),
        "Whether nodes are consolidated: `on`, `off`, or `plan`, which only says what would be done.",
    )
    consolidation_payback: float = _variable(
        "4h",
        values.seconds,
        "The time within which a consolidation must save what it costs, in pools that name none.",
    )
    log_level: LogLevel = _variable(
        "info",
        values.one_of(LogLevel),
        "The lowest level of log lines: `debug`, `info`, `warning`, `error`.",
    )
    log_output_paths: tuple[str, ...] = _variable(
        "stdout", values.log_paths, "Where log lines go: `stdout`, `stderr`, or files, divided by commas."
    )
    metrics_port: int = _variable("8080", values.port, "The port of `/metrics`, for Prometheus.")
    metrics_by_instance_type: bool = _variable(
        "false",
        values.boolean,
        "Whether there are metrics for each instance type and offering: thousands of series.",
    )
    disable_cluster_state_observability: bool = _variable(
        "false",
        values.boolean,
        "`true` leaves out the metrics of nodes, pods, pools and conditions: three alerts never fire then.",
    )
    health_probe_port: int = _variable(
        "8081", values.port, "The port of `/healthz` and `/readyz`, for the kubelet."
    )
    enable_ui: bool = _variable("false", values.boolean, "Whether the live page is served.")
    ui_port: int = _variable("8082", values.port, "The port of the live page.")
    ui_address: str = _variable(
        "127.0.0.1",
        values.text,
        "The address that the live page is served on: the loopback address, for `kubectl port-forward`.",
    )
    enable_profiling: bool = _variable(
        "false", values.boolean, "Whether profiles are served, on the loopback address alone."
    )
    profiling_port: int = _variable("6060", values.port, "The port of these profiles.")
    disable_webhook: bool = _variable(
        "false", values.boolean, "`true` turns the conversion webhook off: then v1beta1 cannot be read."
    )
    webhook_port: int = _variable(
        "8443", values.port, "The port of the conversion webhook, for the API server."
    )
    karpenter_service: str = _variable(
        "treenail",
        values.name,
        "The Service with that port, through which the API server reaches the webhook.",
    )
    webhook_url: str = _variable(
        "", values.secure_url, "The webhook's https URL, for a controller without a Service."
    )
    otel_exporter_otlp_endpoint: str = _variable(
        "", values.url, "The collector that traces are sent to, by OTLP over HTTP; without it, none are sent."
    )
    otel_exporter_otlp_traces_endpoint: str = _variable(
        "", values.url, "The same, as the full URL for traces only."
    )
    otel_traces_sampler: TraceSampler = _variable(
        "parentbased_always_on",
        values.one_of(TraceSampler),
        "Which traces are sent: `always_on`, `always_off` or `traceidratio`, or `parentbased_` and one.",
    )
    otel_traces_sampler_arg: float = _variable(
        "1", values.ratio, "The share of traces that `traceidratio` sends, from 0 to 1."
    )
    state_directory: str = _variable(
        _STATE_DIRECTORY,
        values.text,
        "The directory in which failures of the process are noted. It should outlive the container.",
    )
    enable_zonal_shift: bool = _variable(
        "false",
        values.boolean,
        "`true` heeds zonal shifts of ARC: nothing is bought in zones that the EKS cluster is shifted away"
        " from.",
    )
    ignore_dra_requests: bool = _variable(
        "true",
        values.boolean,
        "`true` refuses pods with resource claims; `false` places them where their devices are, and buys"
        " nodes with GPUs for them.",
    )
    feature_gates: Mapping[str, bool] = _variable(
        "",
        values.gates(GATES),
        "Karpenter's feature gates, such as `NodeRepair=true`; a warning names those without effect.",
    )
    warnings: tuple[str, ...] = ()
    election_wanted: bool = True


@dataclass(frozen=True, slots=True)
class Variable:
    """A setting as people see it. `default` is as it would be written."""

    name: str
    default: str
    about: str
    read: Callable[[str], Any]

    @property
    def field(self) -> str:
        """The field of `Settings` that holds it."""
        return self.name.lower()

    @property
    def option(self) -> str:
        """The option of `treenail controller` that does the same, and comes first."""
        return "--" + self.name.lower().replace("_", "-")


VARIABLES: Final = tuple(
    Variable(f.name.upper(), f.metadata["default"], f.metadata["about"], f.metadata["read"])
    for f in fields(Settings)
    if "read" in f.metadata
)
