from __future__ import annotations

import json

import pytest

from treenail.adapters.settings.global_settings import IGNORED_KEYS, VARIABLES_OF_KEYS
from treenail.adapters.settings.settings import VARIABLES
from treenail.adapters.settings.sources import SettingError, read_settings
from treenail.adapters.settings.unsupported_settings import REFUSED

# As Karpenter's chart of v0.31 writes it.
WRITTEN = {
    "batchMaxDuration": "20s",
    "batchIdleDuration": "2s",
    "featureGates.driftEnabled": "false",
    "aws.assumeRoleARN": "",
    "aws.assumeRoleDuration": "15m",
    "aws.clusterCABundle": "Q0E=",
    "aws.clusterEndpoint": "https://10.0.0.1",
    "aws.clusterName": "demo",
    "aws.defaultInstanceProfile": "KarpenterNodeInstanceProfile-demo",
    "aws.enablePodENI": "false",
    "aws.enableENILimitedPodDensity": "true",
    "aws.interruptionQueueName": "demo-queue",
    "aws.isolatedVPC": "true",
    "aws.reservedENIs": "1",
    "aws.tags": json.dumps({"team": "a"}),
    "aws.vmMemoryOverheadPercent": "0.1",
}

RESTRICTED = 'cannot be followed: "karpenter.sh/nodepool" is restricted: instances get it by themselves'


def test_every_key_of_the_config_map_of_old_is_read() -> None:
    settings = read_settings({}, {}, WRITTEN)

    assert (settings.batch_max_duration, settings.batch_idle_duration) == (20.0, 2.0)
    assert (settings.cluster_name, settings.cluster_endpoint) == ("demo", "https://10.0.0.1")
    assert settings.cluster_ca_bundle == "Q0E="
    assert settings.aws_default_instance_profile == "KarpenterNodeInstanceProfile-demo"
    assert settings.interruption_queue == "demo-queue"
    assert (settings.isolated_vpc, settings.reserved_enis) == (True, 1)
    assert (settings.aws_tags, settings.vm_memory_overhead_percent) == ({"team": "a"}, 0.1)
    assert settings.warnings == ()


def test_no_key_of_the_chart_is_unknown() -> None:
    assert WRITTEN.keys() | {"aws.nodeNameConvention"} == VARIABLES_OF_KEYS.keys() | IGNORED_KEYS.keys()
    assert set(VARIABLES_OF_KEYS.values()) <= {v.name for v in VARIABLES} | REFUSED.keys()


def test_options_come_before_variables_and_these_before_the_config_map() -> None:
    config = {"aws.clusterName": "old", "batchIdleDuration": "3s", "batchMaxDuration": "30s"}

    settings = read_settings(
        {"CLUSTER_NAME": "new", "BATCH_IDLE_DURATION": "2s"}, {"BATCH_IDLE_DURATION": "1s"}, config
    )

    assert settings.cluster_name == "new"
    assert (settings.batch_idle_duration, settings.batch_max_duration) == (1.0, 30.0)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("batchIdleDuration", "soon", "'soon' is not a duration above zero, such as 10s or 1m30s"),
        ("aws.tags", "a=b", '\'a=b\' is not a JSON object of texts, such as {"team": "a"}'),
        ("aws.tags", '{"a": 1}', '\'{"a": 1}\' is not a JSON object of texts, such as {"team": "a"}'),
        (
            "aws.tags",
            '{"karpenter.sh/nodepool": "a"}',
            f"""'{{"karpenter.sh/nodepool": "a"}}' {RESTRICTED}""",
        ),
    ],
)
def test_a_value_that_cannot_be_read_is_named_with_its_key(key: str, value: str, problem: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_settings({"CLUSTER_NAME": "demo"}, {}, {key: value})

    assert str(caught.value) == f"ConfigMap karpenter-global-settings: data[{key}]: {problem}"


def test_a_role_to_assume_cannot_be_followed() -> None:
    with pytest.raises(SettingError, match=r"data\[aws\.assumeRoleARN\]: 'arn:x' cannot be followed"):
        read_settings({"CLUSTER_NAME": "demo"}, {}, {"aws.assumeRoleARN": "arn:x"})


@pytest.mark.parametrize(
    ("key", "value"), [("featureGates.driftEnabled", "true"), ("aws.enablePodENI", "true"), ("own", "x")]
)
def test_what_changes_nothing_is_warned_about(key: str, value: str) -> None:
    settings = read_settings({"CLUSTER_NAME": "demo"}, {}, {key: value})

    warning = (
        f"ConfigMap karpenter-global-settings: data[{key}] is set to {value!r}, which changes nothing here"
    )
    assert settings.warnings == (warning,)


@pytest.mark.parametrize("written", ["", "{}", "null"])
def test_no_tags_are_none(written: str) -> None:
    assert read_settings({"CLUSTER_NAME": "demo"}, {}, {"aws.tags": written}).aws_tags == {}
