"""What the controller is told, by environment variables and by options of the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from treenail.adapters.settings import values
from treenail.adapters.settings.global_settings import place_of, variables_of, warnings_of
from treenail.domain.interruption_policy import Response
from treenail.domain.packing.problem import MinValuesPolicy, Packing, PackingOrder, PreferencePolicy

# Those that Karpenter has, with their defaults. None of them changes anything here yet.
GATES: Final = {
    "CapacityBuffer": False,
    "NodeOverlay": False,
    "NodeRepair": False,
    "ReservedCapacity": True,
    "SpotToSpotConsolidation": False,
    "StaticCapacity": False,
}


# Nothing secret is kept there, and a container may have no other place to write to.
_STATE_DIRECTORY: Final = "/tmp/treenail"  # noqa: S108


_NOTHING: Final[Mapping[str, str]] = {}


class SettingError(Exception):
    """A setting cannot be worked with. The text is the one line to show; it names the variable."""


class CloudName(StrEnum):
    """Where nodes come from."""

    EC2 = "ec2"
    KWOK = "kwok"


class LogLevel(StrEnum):
    """The least important log lines that are written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def _variable(default: str, read: Callable[[str], Any], about: str) -> dict[str, Any]:
    """Describe a setting: its default as it would be written, how it is read, and what it is about."""
    return {"default": default, "read": read, "about": about}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that are acted on. The variable of a field is its name in capitals; times in seconds.

    `warnings` say which variables were set that change nothing, one line each.
    """

    cluster_name: str = field(metadata=_variable("", values.text, "The cluster's name. It must be given."))
    cloud: CloudName = field(
        metadata=_variable(
            "ec2",
            values.one_of(CloudName),
            "Where nodes come from: `ec2`, or `kwok` for nodes without machines.",
        )
    )
    kubeconfig: str = field(
        metadata=_variable(
            "",
            values.text,
            "The file that says how to reach the cluster; without it, the pod's service account.",
        )
    )
    kube_context: str = field(
        metadata=_variable("", values.text, "The context of that file; without it, the current one.")
    )
    system_namespace: str = field(
        metadata=_variable(
            "",
            values.text,
            "Where the ConfigMap `karpenter-global-settings` is; without it, in the pod's own namespace.",
        )
    )
    kube_client_qps: float = field(
        metadata=_variable("200", values.positive, "Writes to the API server a second.")
    )
    kube_client_burst: int = field(
        metadata=_variable("300", values.natural, "Writes to the API server at once.")
    )
    cluster_endpoint: str = field(
        metadata=_variable("", values.url, "The API server, for nodes; without it, EKS is asked.")
    )
    cluster_ca_bundle: str = field(
        metadata=_variable(
            "",
            values.text,
            "The API server's certificate authority (base64), for nodes; without it, EKS is asked.",
        )
    )
    interruption_queue: str = field(
        metadata=_variable(
            "", values.text, "The SQS queue of EC2's warnings; without it, nobody listens to any."
        )
    )
    on_spot_interruption: Response = field(
        metadata=_variable(
            "act",
            values.one_of(Response),
            "Whether nodes are given back for it: `act`, or `record` it and no more.",
        )
    )
    on_rebalance_recommendation: Response = field(
        metadata=_variable(
            "record",
            values.one_of(Response),
            "The same, where EC2 finds it likely that it will take a spot instance.",
        )
    )
    on_scheduled_change: Response = field(
        metadata=_variable(
            "act", values.one_of(Response), "The same, for what AWS Health announces of instances."
        )
    )
    on_instance_state_change: Response = field(
        metadata=_variable(
            "act", values.one_of(Response), "The same, for instances that stop or are terminated."
        )
    )
    on_capacity_reservation_interruption: Response = field(
        metadata=_variable(
            "act",
            values.one_of(Response),
            "The same, for instances in reserved capacity that its owner takes back.",
        )
    )
    delete_pods_at_deadline: bool = field(
        metadata=_variable(
            "true",
            values.boolean,
            "Whether pods are deleted, whatever protects them, before a machine that EC2 takes is gone.",
        )
    )
    aws_region: str = field(
        metadata=_variable("", values.text, "The region; without it, boto3 looks where it always does.")
    )
    aws_default_instance_profile: str = field(
        metadata=_variable(
            "", values.text, "The instance profile of node classes that name none and no role."
        )
    )
    aws_tags: Mapping[str, str] = field(
        metadata=_variable(
            "",
            values.tags,
            "Tags of all that is launched, as a JSON object; those that a node class gives come before them.",
        )
    )
    isolated_vpc: bool = field(
        metadata=_variable("false", values.boolean, "Whether AWS's price list is out of reach.")
    )
    vm_memory_overhead_percent: float = field(
        metadata=_variable(
            "0.075", values.share, "The share of memory that hypervisor and kernel keep, as a fraction."
        )
    )
    reserved_enis: int = field(
        metadata=_variable("0", values.natural, "Network interfaces that carry no pods.")
    )
    ami_refresh_interval: float = field(
        metadata=_variable(
            "1m", values.minutes, "How long it is remembered which images are meant. At least a minute."
        )
    )
    subnet_refresh_interval: float = field(
        metadata=_variable(
            "1m", values.minutes, "How long it is remembered which subnets are meant. At least a minute."
        )
    )
    eks_control_plane: bool = field(
        metadata=_variable(
            "false",
            values.boolean,
            "Whether EKS is asked for the version of Kubernetes that images are for, not the API server.",
        )
    )
    price_overrides_file: str = field(
        metadata=_variable(
            "", values.text, "The file of your own prices; without it, those that AWS publishes."
        )
    )
    batch_idle_duration: float = field(
        metadata=_variable("1s", values.seconds, "A batch ends so long after its last new pod.")
    )
    batch_max_duration: float = field(
        metadata=_variable("10s", values.seconds, "A batch ends so long after its first pod.")
    )
    early_binding: bool = field(
        metadata=_variable(
            "false", values.boolean, "Whether pods are bound to a node as soon as its instance is bought."
        )
    )
    packing: Packing = field(
        metadata=_variable(
            "cheapest",
            values.one_of(Packing),
            "How node sizes are chosen: `cheapest` or `first-fit-descending`.",
        )
    )
    packing_order: PackingOrder = field(
        metadata=_variable(
            "cpu",
            values.one_of(PackingOrder),
            "What first-fit-descending calls large: `cpu`, `memory` or `euclidean`.",
        )
    )
    preference_policy: PreferencePolicy = field(
        metadata=_variable(
            "Respect",
            values.one_of(PreferencePolicy),
            "Whether preferences of pods are kept while they can be: `Respect`, or `Ignore`.",
        )
    )
    min_values_policy: MinValuesPolicy = field(
        metadata=_variable(
            "Strict",
            values.one_of(MinValuesPolicy),
            "Whether a node needs all of the choice that `minValues` ask for: `Strict`, or `BestEffort`.",
        )
    )
    log_level: LogLevel = field(
        metadata=_variable(
            "info",
            values.one_of(LogLevel),
            "The least important lines logged: `debug`, `info`, `warning`, `error`.",
        )
    )
    metrics_port: int = field(metadata=_variable("8080", values.port, "Where Prometheus reads `/metrics`."))
    health_probe_port: int = field(
        metadata=_variable("8081", values.port, "Where the kubelet asks `/healthz` and `/readyz`.")
    )
    disable_webhook: bool = field(
        metadata=_variable(
            "false", values.boolean, "Whether objects are not converted, so that v1beta1 cannot be read."
        )
    )
    webhook_port: int = field(
        metadata=_variable("8443", values.port, "Where the API server has objects of v1beta1 converted.")
    )
    karpenter_service: str = field(
        metadata=_variable(
            "treenail", values.name, "The Service with that port, by which the API server reaches it."
        )
    )
    webhook_url: str = field(
        metadata=_variable(
            "",
            values.secure_url,
            "The same as a URL with https, for a controller that no Service leads to.",
        )
    )
    otel_exporter_otlp_endpoint: str = field(
        metadata=_variable(
            "", values.url, "The collector that traces go to, by OTLP over HTTP; without it, they go nowhere."
        )
    )
    otel_exporter_otlp_traces_endpoint: str = field(
        metadata=_variable("", values.url, "The same, as the full URL for traces alone.")
    )
    state_directory: str = field(
        metadata=_variable(
            _STATE_DIRECTORY,
            values.text,
            "Where it is noted that the process failed. It should outlive the container.",
        )
    )
    feature_gates: Mapping[str, bool] = field(
        metadata=_variable(
            "", values.gates(GATES), "Karpenter's feature gates. A gate that is not known is an error."
        )
    )
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variable:
    """A setting as people see it. `default` is as it would be written."""

    name: str
    default: str
    about: str
    read: Callable[[str], Any]

    @property
    def field(self) -> str:
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

# Settings of Karpenter's that a chart may well set, and that change nothing here, with their defaults.
IGNORED: Final[Mapping[str, str]] = {
    "ASSUME_ROLE_DURATION": "15m",
    "CPU_REQUESTS": "1000",
    "DISABLE_CLUSTER_STATE_OBSERVABILITY": "false",
    "DISABLE_CONTROLLER_WARMUP": "true",
    "DISABLE_DRY_RUN": "false",
    "DISABLE_LEADER_ELECTION": "false",
    "ENABLE_PROFILING": "false",
    "IGNORE_DRA_REQUESTS": "true",
    "LEADER_ELECT": "true",
    "LEADER_ELECTION_NAME": "karpenter-leader-election",
    "LEADER_ELECTION_NAMESPACE": "",
    "LOG_ERROR_OUTPUT_PATHS": "stderr",
    "LOG_OUTPUT_PATHS": "stdout",
    "MEMORY_LIMIT": "-1",
    "SCHEDULER_CONFIG": "",
    "WEBHOOK_METRICS_PORT": "8001",
}

# Settings of Karpenter's that cannot be followed, and must not be passed over: how they are read, and what to
# do instead. Those that say nothing, false or no gate do no harm.
REFUSED: Final[Mapping[str, tuple[Callable[[str], object], str]]] = {
    "ASSUME_ROLE_ARN": (
        values.text,
        "no role is assumed by a setting; give the pod that role, or a profile with role_arn by AWS_PROFILE",
    ),
    "AWS_FEATURE_GATES": (
        values.gates_on({"NodeClassCEL": False}),
        "expressions in node classes are not evaluated; write figures",
    ),
    "ENABLE_ZONAL_SHIFT": (
        values.boolean,
        "zonal shifts are not followed; leave a zone out by the subnets of the node classes",
    ),
}


def read_settings(
    environment: Mapping[str, str], options: Mapping[str, str], config: Mapping[str, str] = _NOTHING
) -> Settings:
    """Read the settings. `options` are by variable, and come before the `environment`.

    Both come before `config`, the data of the ConfigMap `karpenter-global-settings`. What is set to nothing
    is as if it were not set.

    Raises:
        SettingError: a value cannot be read or followed, or the cluster's name is missing.
    """
    _refuse(environment)
    _refuse(variables_of(config), called=place_of)
    sources = Sources(environment, options, variables_of(config))
    read = {variable.field: sources.read(variable) for variable in VARIABLES}
    warnings = (*_warnings(environment, read["feature_gates"]), *warnings_of(config))
    settings = Settings(**read, warnings=warnings)
    _check(settings)
    return settings


@dataclass(frozen=True, slots=True)
class Sources:
    """Where settings are said, each by variable: the first comes before the others."""

    environment: Mapping[str, str]
    options: Mapping[str, str]
    config: Mapping[str, str] = field(default_factory=dict)

    def read(self, variable: Variable) -> Any:  # noqa: ANN401 (what the variable's reader returns)
        """Return what a variable is set to.

        Raises:
            SettingError: its value cannot be read.
        """
        name = variable.name
        for written, where in (
            (self.options.get(name), variable.option),
            (self.environment.get(name), name),
            (self.config.get(name), place_of(name) if name in self.config else name),
            (variable.default, name),
        ):
            if written:
                try:
                    return variable.read(written.strip())
                except ValueError as error:
                    raise SettingError(f"{where}: {written!r} {error}") from None
        return variable.read("")


def _refuse(said: Mapping[str, str], called: Callable[[str], str] = str) -> None:
    for name, (read, why) in REFUSED.items():
        written = said.get(name, "").strip()
        try:
            wanted = written and read(written)
        except ValueError as error:
            raise SettingError(f"{called(name)}: {written!r} {error}") from None
        if wanted:
            raise SettingError(f"{called(name)}: {written!r} cannot be followed: {why}")


def _check(settings: Settings) -> None:
    if not settings.cluster_name:
        raise SettingError("CLUSTER_NAME: the name of the cluster must be given")
    if settings.batch_idle_duration > settings.batch_max_duration:
        raise SettingError("BATCH_IDLE_DURATION: is longer than BATCH_MAX_DURATION")
    if settings.kube_client_burst < 1:
        raise SettingError("KUBE_CLIENT_BURST: '0' would let no write through")


def _warnings(environment: Mapping[str, str], gates: Mapping[str, bool]) -> tuple[str, ...]:
    ignored = [
        f"{name} is set to {environment[name]!r}, which changes nothing here"
        for name, default in IGNORED.items()
        if environment.get(name, "") not in {"", default}
    ]
    ignored += [
        f"FEATURE_GATES sets {name} to {str(value).lower()}, which changes nothing here"
        for name, value in gates.items()
        if value != GATES[name]
    ]
    return tuple(ignored)
