from __future__ import annotations

import pytest

from treenail.adapters.settings.settings import (
    GATES,
    IGNORED,
    VARIABLES,
    CloudName,
    LogLevel,
    SettingError,
    read_settings,
)
from treenail.domain.packing.problem import MinValuesPolicy, Packing, PackingOrder, PreferencePolicy

NAMED = {"CLUSTER_NAME": "demo"}


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


@pytest.mark.parametrize(
    ("name", "written", "field", "value"),
    [
        ("CLOUD", "kwok", "cloud", CloudName.KWOK),
        ("BATCH_IDLE_DURATION", "1m30s", "batch_idle_duration", 90.0),
        ("KUBE_CLIENT_QPS", "0.5", "kube_client_qps", 0.5),
        ("METRICS_PORT", " 9090 ", "metrics_port", 9090),
        ("ISOLATED_VPC", "True", "isolated_vpc", True),
        ("EARLY_BINDING", "1", "early_binding", True),
        ("LOG_LEVEL", "DEBUG", "log_level", LogLevel.DEBUG),
        ("PACKING", "first-fit-descending", "packing", Packing.FIRST_FIT_DESCENDING),
        ("PACKING_ORDER", "euclidean", "packing_order", PackingOrder.EUCLIDEAN),
        ("PREFERENCE_POLICY", "ignore", "preference_policy", PreferencePolicy.IGNORE),
        ("MIN_VALUES_POLICY", "BestEffort", "min_values_policy", MinValuesPolicy.BEST_EFFORT),
        ("CLUSTER_ENDPOINT", "https://10.0.0.1:6443", "cluster_endpoint", "https://10.0.0.1:6443"),
        ("RESERVED_ENIS", "2", "reserved_enis", 2),
        ("VM_MEMORY_OVERHEAD_PERCENT", "0", "vm_memory_overhead_percent", 0.0),
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
        ("VM_MEMORY_OVERHEAD_PERCENT", "7.5", "is not a fraction of 0 or more and below 1, such as 0.075"),
        ("ISOLATED_VPC", "maybe", "is neither true nor false"),
        ("CLUSTER_ENDPOINT", "10.0.0.1", "is not an absolute URL, such as https://10.0.0.1"),
        ("CLOUD", "azure", "is none of ec2, kwok"),
        ("LOG_LEVEL", "loud", "is none of debug, info, warning, error"),
        ("FEATURE_GATES", "NodeRepair=maybe", "sets NodeRepair to 'maybe', which is neither true nor false"),
        (
            "FEATURE_GATES",
            "Nothing=true",
            f"names the gate 'Nothing'; there are {', '.join(sorted(GATES))}",
        ),
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

    unusual = read_settings({**usual, "MEMORY_LIMIT": "1", "FEATURE_GATES": "NodeRepair=true"}, {})

    assert unusual.warnings == (
        "MEMORY_LIMIT is set to '1', which changes nothing here",
        "FEATURE_GATES sets NodeRepair to true, which changes nothing here",
    )
    assert unusual.feature_gates == {**GATES, "NodeRepair": True}


def test_no_setting_is_both_acted_on_and_ignored() -> None:
    assert {v.name for v in VARIABLES} & IGNORED.keys() == set()
