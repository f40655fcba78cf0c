from __future__ import annotations

import json

import pytest

from treenail.adapters.settings import values
from treenail.adapters.settings.settings import VARIABLES, CloudName, ConsolidationMode, LogLevel
from treenail.adapters.settings.sources import SettingError, read_settings
from treenail.adapters.settings.unsupported_settings import ELECTION, GATES, IGNORED, REFUSED
from treenail.domain.interruption.notice_responses import Response
from treenail.domain.model.pods import TopologySpread
from treenail.domain.packing.problem import MinValuesPolicy, Packing, PackingOrder, PreferencePolicy

NAMED = {"CLUSTER_NAME": "demo"}
MANY_TAGS = json.dumps({f"tag-{n}": "" for n in range(51)})
LONG_TAG = json.dumps({"a": "x" * 257})


def test_without_more_than_a_name_the_settings_are_as_in_karpenter() -> None:
    settings = read_settings(NAMED, {})

    assert settings.cluster_name == "demo"
    assert settings.cloud is CloudName.EC2
    assert (settings.batch_idle_duration, settings.batch_max_duration) == (1.0, 10.0)
    assert (settings.metrics_port, settings.health_probe_port) == (8080, 8081)
    assert (settings.kube_client_qps, settings.kube_client_burst) == (200.0, 300)
    assert (settings.vm_memory_overhead_percent, settings.reserved_enis) == (0.075, 0)
    assert settings.log_level is LogLevel.INFO
    assert settings.interruption_queue == settings.aws_region == settings.cluster_endpoint == ""
    assert (settings.early_binding, settings.isolated_vpc) == (False, False)
    assert (settings.packing, settings.packing_order) == (Packing.CHEAPEST, PackingOrder.CPU)
    assert settings.feature_gates == GATES
    assert settings.warnings == ()


SPREAD = (
    "podTopologySpread: {defaultConstraints: "
    "[{maxSkew: 2, topologyKey: a/b, whenUnsatisfiable: DoNotSchedule}]}"
)


@pytest.mark.parametrize(
    ("name", "written", "field", "value"),
    [
        ("CLOUD", "kwok", "cloud", CloudName.KWOK),
        ("ON_SPOT_INTERRUPTION", "record", "on_spot_interruption", Response.RECORD),
        ("ON_REBALANCE_RECOMMENDATION", "Act", "on_rebalance_recommendation", Response.ACT),
        ("DELETE_PODS_AT_DEADLINE", "false", "delete_pods_at_deadline", False),
        ("BATCH_IDLE_DURATION", "1m30s", "batch_idle_duration", 90.0),
        ("KUBE_CLIENT_QPS", "0.5", "kube_client_qps", 0.5),
        ("METRICS_PORT", " 9090 ", "metrics_port", 9090),
        ("AWS_DEFAULT_INSTANCE_PROFILE", "nodes", "aws_default_instance_profile", "nodes"),
        ("ISOLATED_VPC", "True", "isolated_vpc", True),
        ("EARLY_BINDING", "1", "early_binding", True),
        ("LOG_LEVEL", "DEBUG", "log_level", LogLevel.DEBUG),
        ("PACKING", "first-fit-descending", "packing", Packing.FIRST_FIT_DESCENDING),
        ("PACKING_ORDER", "euclidean", "packing_order", PackingOrder.EUCLIDEAN),
        ("PREFERENCE_POLICY", "ignore", "preference_policy", PreferencePolicy.IGNORE),
        ("MIN_VALUES_POLICY", "BestEffort", "min_values_policy", MinValuesPolicy.BEST_EFFORT),
        ("CLUSTER_ENDPOINT", "https://10.0.0.1:6443", "cluster_endpoint", "https://10.0.0.1:6443"),
        ("RESERVED_ENIS", "2", "reserved_enis", 2),
        ("AMI_REFRESH_INTERVAL", "10m", "ami_refresh_interval", 600.0),
        ("SUBNET_REFRESH_INTERVAL", "1m", "subnet_refresh_interval", 60.0),
        ("EKS_CONTROL_PLANE", "true", "eks_control_plane", True),
        ("CLUSTER_CA_BUNDLE", "Q0E\n=\n", "cluster_ca_bundle", "Q0E="),
        ("CLUSTER_NAME", "Eu_1.example.com", "cluster_name", "Eu_1.example.com"),
        ("PRICE_OVERRIDES_FILE", "/etc/prices.yaml", "price_overrides_file", "/etc/prices.yaml"),
        ("VM_MEMORY_OVERHEAD_PERCENT", "0", "vm_memory_overhead_percent", 0.0),
        (
            "SCHEDULER_CONFIG",
            SPREAD,
            "scheduler_config",
            (TopologySpread(topology_key="a/b", max_skew=2, hard=True),),
        ),
        ("LOG_OUTPUT_PATHS", "stdout, /var/log/x.log", "log_output_paths", ("stdout", "/var/log/x.log")),
        ("ENABLE_PROFILING", "true", "enable_profiling", True),
        ("DISABLE_WEBHOOK", "true", "disable_webhook", True),
        ("WEBHOOK_PORT", "9443", "webhook_port", 9443),
        ("KARPENTER_SERVICE", "karpenter", "karpenter_service", "karpenter"),
        ("WEBHOOK_URL", "https://10.0.0.1:8443", "webhook_url", "https://10.0.0.1:8443"),
    ],
)
def test_a_setting_is_read_from_its_variable(name: str, written: str, field: str, value: object) -> None:
    settings = read_settings({**NAMED, "BATCH_MAX_DURATION": "1h", name: written}, {})

    assert getattr(settings, field) == value


@pytest.mark.parametrize(
    ("name", "written", "problem"),
    [
        ("BATCH_IDLE_DURATION", "soon", "is not a duration above zero, such as 10s or 1m30s"),
        ("BATCH_MAX_DURATION", "-1s", "is not a duration above zero, such as 10s or 1m30s"),
        ("METRICS_PORT", "65536", "is not a port between 0 and 65535"),
        ("HEALTH_PROBE_PORT", "http", "is not a port between 0 and 65535"),
        ("RESERVED_ENIS", "-1", "is not an integer of 0 or more"),
        ("KUBE_CLIENT_QPS", "nan", "is not a number above 0"),
        ("KUBE_CLIENT_QPS", "0", "is not a number above 0"),
        (
            "WEBHOOK_URL",
            "http://10.0.0.1",
            "is not an absolute URL with https, such as https://10.0.0.1:8443",
        ),
        ("KARPENTER_SERVICE", "a.b", "is not a name of lower-case letters, digits and hyphens"),
        ("VM_MEMORY_OVERHEAD_PERCENT", "7.5", "is not a fraction of 0 or more and below 1, such as 0.075"),
        ("OTEL_TRACES_SAMPLER_ARG", "1.1", "is not a fraction from 0 to 1"),
        ("ISOLATED_VPC", "maybe", "is neither true nor false"),
        ("AMI_REFRESH_INTERVAL", "59s", "is less than a minute"),
        ("SUBNET_REFRESH_INTERVAL", "often", "is not a duration above zero, such as 10s or 1m30s"),
        ("ENABLE_ZONAL_SHIFT", "maybe", "is neither true nor false"),
        ("CLUSTER_ENDPOINT", "10.0.0.1", "is not an absolute URL, such as https://10.0.0.1"),
        ("CLUSTER_ENDPOINT", "https://10.0.0.1:99999", "is not an absolute URL, such as https://10.0.0.1"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a b", "is not an absolute URL, such as https://10.0.0.1"),
        (
            "WEBHOOK_URL",
            "https://10.0.0.1:99999",
            "is not an absolute URL with https, such as https://10.0.0.1:8443",
        ),
        ("CLUSTER_CA_BUNDLE", "-----BEGIN CERTIFICATE-----", "is not base64"),
        (
            "CLUSTER_NAME",
            "de mo",
            "is not a name of letters, digits, hyphens, underscores and dots, 100 at most",
        ),
        ("SYSTEM_NAMESPACE", "Kube/System", "is not a name of lower-case letters, digits and hyphens"),
        ("AWS_TAGS", '{"aws:x": "y"}', "cannot be followed: 'aws:x': aws: is for AWS alone"),
        ("AWS_TAGS", MANY_TAGS, "cannot be followed: EC2 takes 50 tags at most"),
        ("AWS_TAGS", LONG_TAG, "cannot be followed: 'a' or its value is longer than 128 and 256"),
        (
            "LOG_OUTPUT_PATHS",
            "stdout,x.log",
            "is none of stdout, stderr and absolute paths, divided by commas",
        ),
        ("CLOUD", "azure", "is none of ec2, kwok"),
        ("LOG_LEVEL", "loud", "is none of debug, info, warning, error"),
        ("FEATURE_GATES", "NodeRepair=maybe", "sets NodeRepair to 'maybe', which is neither true nor false"),
    ],
)
def test_a_value_that_cannot_be_read_is_named_with_its_variable(
    name: str, written: str, problem: str
) -> None:
    with pytest.raises(SettingError) as caught:
        read_settings({**NAMED, name: written}, {})

    assert str(caught.value) == f"{name}: {written!r} {problem}"


def test_the_name_of_the_cluster_must_be_given() -> None:
    with pytest.raises(SettingError, match="CLUSTER_NAME: the name of the cluster must be given"):
        read_settings({}, {})


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"BATCH_IDLE_DURATION": "20s"}, "BATCH_IDLE_DURATION: is longer than BATCH_MAX_DURATION"),
        ({"KUBE_CLIENT_BURST": "0"}, "KUBE_CLIENT_BURST: '0' would let no write through"),
    ],
)
def test_settings_that_cannot_go_together_are_refused(more: dict[str, str], problem: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_settings({**NAMED, **more}, {})

    assert str(caught.value) == problem


def test_an_option_comes_before_its_variable_and_is_named_where_it_is_wrong() -> None:
    assert read_settings({**NAMED, "CLOUD": "ec2"}, {"CLOUD": "kwok"}).cloud is CloudName.KWOK
    with pytest.raises(SettingError, match="--cloud: 'azure' is none of"):
        read_settings({**NAMED, "CLOUD": "ec2"}, {"CLOUD": "azure"})


def test_a_variable_set_to_nothing_is_not_set() -> None:
    assert read_settings({**NAMED, "METRICS_PORT": ""}, {}).metrics_port == 8080


def test_settings_of_karpenters_that_change_nothing_are_warned_about_unless_they_ask_for_nothing() -> None:
    usual = {**NAMED, **IGNORED}
    assert read_settings(usual, {}).warnings == ()

    unusual = read_settings(
        {**usual, "MEMORY_LIMIT": "1", "FEATURE_GATES": "NodeRepair=true,Drift=false"}, {}
    )

    assert unusual.warnings == (
        "MEMORY_LIMIT is set to '1', which changes nothing here",
        "FEATURE_GATES sets Drift to false, which changes nothing here",
    )
    assert unusual.feature_gates == {**GATES, "NodeRepair": True, "Drift": False}


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("ASSUME_ROLE_ARN", "arn:aws:iam::1:role/other"),
        ("AWS_FEATURE_GATES", "NodeClassCEL=true"),
    ],
)
def test_settings_of_karpenters_that_cannot_be_followed_are_refused_with_what_to_do(
    name: str, written: str
) -> None:
    with pytest.raises(SettingError) as caught:
        read_settings({**NAMED, name: written}, {})

    assert str(caught.value) == f"{name}: {written!r} cannot be followed: {REFUSED[name][1]}"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("ASSUME_ROLE_ARN", ""),
        ("AWS_FEATURE_GATES", "NodeClassCEL=false"),
        ("AWS_FEATURE_GATES", " "),
        ("ENABLE_ZONAL_SHIFT", "false"),
    ],
)
def test_those_that_ask_for_nothing_do_no_harm(name: str, written: str) -> None:
    assert read_settings({**NAMED, name: written}, {}) == read_settings(NAMED, {})


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({}, True),
        ({"LEADER_ELECT": "true"}, True),
        ({"LEADER_ELECT": "false"}, False),
        ({"DISABLE_LEADER_ELECTION": "true"}, False),
        ({"DISABLE_LEADER_ELECTION": "false", "LEADER_ELECTION_NAME": "mine"}, True),
        ({"LEADER_ELECTION_NAMESPACE": "kube-system"}, True),
    ],
)
def test_a_leader_is_to_be_elected_unless_a_setting_says_otherwise(
    said: dict[str, str],
    wanted: bool,  # noqa: FBT001
) -> None:
    assert read_settings({**NAMED, **said}, {}).election_wanted is wanted


def test_an_election_that_is_neither_wanted_nor_not_is_an_error() -> None:
    with pytest.raises(SettingError, match="LEADER_ELECT: 'perhaps' is neither true nor false"):
        read_settings({**NAMED, "LEADER_ELECT": "perhaps"}, {})


def test_a_setting_is_acted_on_or_ignored_or_refused() -> None:
    names = [*(v.name for v in VARIABLES), *IGNORED, *ELECTION, *REFUSED]

    assert len(names) == len(set(names))


# What Karpenter 1.15 and 0.32 read, by their references.
KARPENTERS = """
AMI_REFRESH_INTERVAL ASSUME_ROLE_ARN ASSUME_ROLE_DURATION AWS_FEATURE_GATES BATCH_IDLE_DURATION
BATCH_MAX_DURATION CLUSTER_CA_BUNDLE CLUSTER_ENDPOINT CLUSTER_NAME CPU_REQUESTS
DISABLE_CLUSTER_STATE_OBSERVABILITY DISABLE_CONTROLLER_WARMUP DISABLE_DRY_RUN DISABLE_LEADER_ELECTION
DISABLE_WEBHOOK EKS_CONTROL_PLANE ENABLE_PROFILING ENABLE_ZONAL_SHIFT FEATURE_GATES HEALTH_PROBE_PORT
IGNORE_DRA_REQUESTS INTERRUPTION_QUEUE ISOLATED_VPC KARPENTER_SERVICE KUBE_CLIENT_BURST KUBE_CLIENT_QPS
LEADER_ELECT LEADER_ELECTION_NAME LEADER_ELECTION_NAMESPACE LOG_ERROR_OUTPUT_PATHS LOG_LEVEL LOG_OUTPUT_PATHS
MEMORY_LIMIT METRICS_PORT MIN_VALUES_POLICY PREFERENCE_POLICY RESERVED_ENIS SUBNET_REFRESH_INTERVAL
VM_MEMORY_OVERHEAD_PERCENT WEBHOOK_METRICS_PORT WEBHOOK_PORT
"""


def test_no_setting_of_karpenters_is_passed_over_in_silence() -> None:
    known = {*(v.name for v in VARIABLES), *IGNORED, *ELECTION, *REFUSED}

    assert [name for name in KARPENTERS.split() if name not in known] == []


def test_the_gates_that_the_charts_of_v0_32_to_v0_37_set_are_known_and_drift_is_always_on() -> None:
    charts = read_settings({**NAMED, "FEATURE_GATES": "Drift=true,SpotToSpotConsolidation=false"}, {})
    without = read_settings({**NAMED, "FEATURE_GATES": "Drift=false"}, {})

    assert charts.warnings == ()
    assert without.warnings == ("FEATURE_GATES sets Drift to false, which changes nothing here",)


def test_a_gate_that_is_not_known_changes_nothing_and_is_told() -> None:
    settings = read_settings({**NAMED, "FEATURE_GATES": "NodeRepair=true,Nothing=true"}, {})

    assert settings.feature_gates["NodeRepair"]
    assert settings.warnings == (
        f"FEATURE_GATES names Nothing, which changes nothing: there are {', '.join(sorted(GATES))}",
    )
    assert not read_settings({**NAMED, "AWS_FEATURE_GATES": "CEL=true"}, {}).warnings


def test_options_of_karpenters_are_taken_as_its_variables_are() -> None:
    settings = read_settings(NAMED, {"MEMORY_LIMIT": "5", "LEADER_ELECT": "false"})

    assert settings.warnings == ("MEMORY_LIMIT is set to '5', which changes nothing here",)
    assert not settings.election_wanted


ZONES = "maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"


@pytest.mark.parametrize(
    ("constraints", "problem"),
    [
        ("{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}", "maxSkew"),
        ("{maxSkew: 1, topologyKey: 'a b', whenUnsatisfiable: DoNotSchedule}", "topologyKey"),
        ("{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: Never}", "whenUnsatisfiable"),
        (f"{{{ZONES}, labelSelector: {{}}}}", "labelSelector: must not be set"),
        (f"{{{ZONES}, matchLabelKeys: [a]}}", "matchLabelKeys: must not be set"),
        (f"{{{ZONES}, minDomains: 2}}", "minDomains"),
        (f"{{{ZONES}}}, {{{ZONES}}}", "has the topologyKey and whenUnsatisfiable of [0]"),
        (f"{{{ZONES}, more: 1}}", "more"),
    ],
)
def test_default_constraints_that_the_scheduler_would_refuse_are_refused(
    constraints: str, problem: str
) -> None:
    written = f"podTopologySpread: {{defaultConstraints: [{constraints}]}}"

    with pytest.raises(SettingError, match="SCHEDULER_CONFIG") as caught:
        read_settings({**NAMED, "SCHEDULER_CONFIG": written}, {})

    assert problem in str(caught.value)


@pytest.mark.parametrize("written", ["a: [", "podTopology: {}", "[]", "{}\n---\n{}"])
def test_a_scheduler_config_that_is_none_is_refused(written: str) -> None:
    with pytest.raises(SettingError, match="SCHEDULER_CONFIG"):
        read_settings({**NAMED, "SCHEDULER_CONFIG": written}, {})


@pytest.mark.parametrize(
    ("written", "mode"), [("on", "on"), ("true", "on"), ("off", "off"), ("false", "off"), ("Plan", "plan")]
)
def test_on_and_off_are_understood_as_yaml_writes_them_too(written: str, mode: str) -> None:
    assert values.switch(ConsolidationMode)(written).value == mode


def test_anything_else_is_refused_with_what_there_is() -> None:
    with pytest.raises(ValueError, match="is none of on"):
        values.switch(ConsolidationMode)("maybe")
