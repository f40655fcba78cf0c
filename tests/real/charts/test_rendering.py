from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.real.charts.rendering import (
    CHART,
    CRD_CHART,
    ROOT,
    VALUES,
    Tree,
    documents,
    environment,
    golden,
    of_kind,
    render,
)
from tests.real.parts.helm import Helm, HelmError
from tests.test_dashboards import RULES
from treenail.adapters.settings.settings import VARIABLES
from treenail.adapters.settings.sources import read_settings
from treenail.adapters.settings.unsupported_settings import ELECTION, IGNORED, REFUSED

MINIMAL: Final = VALUES["minimal"]
# What the chart sets by values outside of `settings`, or a pod does not need.
ELSEWHERE: Final = {
    "DISABLE_WEBHOOK",
    "HEALTH_PROBE_PORT",
    "KARPENTER_SERVICE",
    "KUBECONFIG",
    "KUBE_CONTEXT",
    "LOG_LEVEL",
    "METRICS_PORT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
    "STATE_DIRECTORY",
    "SYSTEM_NAMESPACE",
    "WEBHOOK_PORT",
    "WEBHOOK_URL",
}
KNOWN: Final = {variable.name for variable in VARIABLES} | {*ELECTION, *IGNORED, *REFUSED}
OTLP_HEADERS: Final = "OTEL_EXPORTER_OTLP_HEADERS"


def named(thing: Tree) -> tuple[str, str]:
    return thing["kind"], thing["metadata"]["name"]


def default_values() -> Tree:
    found: Tree = yaml.safe_load((CHART / "values.yaml").read_text())
    return found


@pytest.mark.parametrize("name", VALUES)
def test_the_chart_renders_as_it_is_kept(helm: Helm, name: str) -> None:
    rendered = render(helm, CHART, "--values", VALUES[name])

    lines = [line.rstrip() for line in rendered.splitlines()]
    assert lines == golden(name).splitlines(), "make charts writes it anew"


@pytest.mark.parametrize(
    ("chart", "values"), [*((CHART, path) for path in VALUES.values()), (CRD_CHART, None)]
)
def test_lint_finds_nothing(helm: Helm, chart: Path, values: Path | None) -> None:
    said = helm("lint", "--strict", chart, *(() if values is None else ("--values", values)))

    assert "[WARNING]" not in said
    assert "[ERROR]" not in said


def test_every_setting_of_the_controller_has_a_value_and_every_value_is_a_setting(helm: Helm) -> None:
    minimal = of_kind(documents(render(helm, CHART, "--values", MINIMAL)), "Deployment")
    everything = of_kind(documents(render(helm, CHART, "--values", VALUES["everything"])), "Deployment")
    set_by_values = {*environment(minimal), *environment(everything)}

    # A new setting gets a line in deploy/chart/values.yaml, its schema, and tests/real/charts/values.
    assert {variable.name for variable in VARIABLES} - ELSEWHERE <= set_by_values
    assert set_by_values <= KNOWN


@pytest.mark.parametrize("name", VALUES)
def test_the_controller_takes_the_environment_as_it_is_meant(helm: Helm, name: str) -> None:
    rendered = of_kind(documents(render(helm, CHART, "--values", VALUES[name])), "Deployment")

    settings = read_settings(environment(rendered), {})

    assert [line for line in settings.warnings if "changes nothing" in line] == []
    if name == "minimal":
        where = dict.fromkeys(("SYSTEM_NAMESPACE", "LEADER_ELECTION_NAMESPACE"), "kube-system")
        defaults = read_settings({"CLUSTER_NAME": "demo", **where}, {})
        assert settings == defaults
    if name == "everything":
        assert settings.cluster_name == "treenail-cluster"
        assert settings.aws_tags == {"team": "platform"}
        assert settings.kube_client_qps == 1_000_000
        assert settings.reserved_enis == 1
        assert settings.feature_gates["NodeRepair"]
        assert settings.otel_traces_sampler_arg == 0.25


def test_the_defaults_are_the_controllers_own(helm: Helm) -> None:
    rendered = of_kind(documents(render(helm, CHART, "--values", MINIMAL)), "Deployment")
    defaults = {variable.name: variable for variable in VARIABLES}

    for name, written in environment(rendered).items():
        if name in defaults and defaults[name].default:
            assert defaults[name].read(written) == defaults[name].read(defaults[name].default), name


def test_a_variable_of_controller_env_takes_the_place_of_a_value(helm: Helm, values: Path) -> None:
    given = [{"name": "BATCH_MAX_DURATION", "value": "30s"}, {"name": "MORE", "value": "1"}]
    values.write_text(yaml.safe_dump({"controller": {"env": given}}))

    rendered = of_kind(documents(render(helm, CHART, "--values", MINIMAL, "--values", values)), "Deployment")
    env = rendered["spec"]["template"]["spec"]["containers"][0]["env"]

    assert env[-2:] == given
    assert len({variable["name"] for variable in env}) == len(env)


def test_headers_of_the_collector_come_from_a_secret_alone() -> None:
    container = of_kind(documents(golden("everything")), "Deployment")["spec"]["template"]["spec"][
        "containers"
    ][0]
    [headers] = [variable for variable in container["env"] if variable["name"] == OTLP_HEADERS]

    assert headers["valueFrom"] == {"secretKeyRef": {"name": "collector", "key": "headers"}}


REFUSALS: Final[list[tuple[Tree, str]]] = [
    ({"replica": 2}, "additional properties 'replica' not allowed"),
    ({"settings": {"batchMaxDurations": "1s"}}, "at '/settings': additional properties 'batchMaxDurations'"),
    ({"settings": {"cloud": "azure"}}, "at '/settings/cloud': value must be one of 'ec2', 'kwok'"),
    (
        {"settings": {"featureGates": {"nodeRepairs": True}}},
        "additional properties 'nodeRepairs' not allowed",
    ),
    ({"settings": {"clusterName": ""}}, "settings.clusterName: the cluster must be named"),
    ({"settings": {"clusterName": "a b"}}, "at '/settings/clusterName': 'a b' does not match pattern"),
    ({"traces": {"endpoint": "collector:4318"}}, "at '/traces/endpoint': 'collector:4318' does not match"),
    ({"logLevel": "loud"}, "at '/logLevel': value must be one of"),
    ({"replicas": "two"}, "at '/replicas': got string, want integer"),
    ({"traces": {"sampling": 2}}, "at '/traces/sampling': maximum: got 2, want 1"),
    ({"terminationGracePeriodSeconds": 5}, "at '/terminationGracePeriodSeconds': minimum: got 5, want 20"),
    ({"controller": {"image": {"repository": ""}}}, "controller.image.repository: the image must be named"),
    (
        {"controller": {"image": {"repository": "example.test/karpenter/controller"}}},
        "controller.image.repository: example.test/karpenter/controller is Karpenter's image",
    ),
    (
        {"replicas": 2, "leaderElection": {"enabled": False}},
        "replicas: more than 1 without leaderElection.enabled",
    ),
    ({"settings": {"batchMaxDuration": "ten"}}, "at '/settings/batchMaxDuration': 'ten' does not match"),
    ({"webhook": {"port": 8080}}, "webhook.port: 8080 is controller.metrics.port already"),
    (
        {"settings": {"enableUI": True, "uiPort": 8443}},
        "webhook.port: 8443 is settings.uiPort already",
    ),
    # --- of Karpenter before 1.0
    ({"aws": {"defaultInstanceProfile": "p"}}, "aws.defaultInstanceProfile: of Karpenter before 1.0; in its"),
    ({"clusterName": "demo"}, "in its place is settings.clusterName"),
    ({"settings": {"aws": {"clusterName": "demo"}}}, "settings.aws.clusterName: of Karpenter before 1.0; in"),
    ({"settings": {"aws": {"interruptionQueueName": "q"}}}, "in its place is settings.interruptionQueue"),
    ({"settings": {"aws": {"enablePodENI": False}}}, "settings.aws.enablePodENI: of Karpenter before 1.0"),
    ({"settings": {"aws": {"tags": {"a": "b"}}}}, "in its place is settings.awsTags"),
    ({"settings": {"assumeRoleARN": "arn:aws:iam::1:role/r"}}, "in its place is serviceAccount.annotations"),
    ({"settings": {"featureGates": {"driftEnabled": True}}}, "in its place is settings.featureGates.drift"),
    ({"logConfig": {"logLevel": {"global": "debug"}}}, "logConfig.logLevel: of Karpenter before 1.0; in its"),
    ({"controller": {"outputPaths": ["stdout"]}}, "in its place is logOutputPaths"),
    ({"webhook": {"metrics": {"port": 8001}}}, "in its place is controller.metrics"),
]


@pytest.mark.parametrize(("wrong", "problem"), REFUSALS, ids=[problem for _, problem in REFUSALS])
def test_wrong_values_are_refused_by_their_name(helm: Helm, values: Path, wrong: Tree, problem: str) -> None:
    values.write_text(yaml.safe_dump(wrong))

    with pytest.raises(HelmError) as caught:
        render(helm, CHART, "--values", MINIMAL, "--values", values)

    assert problem in str(caught.value)


def test_several_values_of_old_charts_are_named_together_and_empty_ones_pass(
    helm: Helm, values: Path
) -> None:
    empty = {"assumeRoleARN": "", "aws": {"tags": {}}}
    values.write_text(yaml.safe_dump({"settings": empty, "controller": {"outputPaths": []}}))
    assert render(helm, CHART, "--values", MINIMAL, "--values", values)

    values.write_text(yaml.safe_dump({"settings": {"aws": {"clusterName": "c"}}, "logEncoding": "json"}))
    with pytest.raises(HelmError) as caught:
        render(helm, CHART, "--values", MINIMAL, "--values", values)

    assert "logEncoding: " in str(caught.value)
    assert "settings.aws.clusterName: " in str(caught.value)


def test_every_value_of_karpenters_old_charts_is_taken_or_refused_by_its_name(
    helm: Helm, values: Path
) -> None:
    """A value that only the schema refuses would be refused without its new name."""
    template = (CHART / "templates" / "_old_values.tpl").read_text()
    old = re.findall(r"^([a-zA-Z.]+): ", template, flags=re.MULTILINE)
    for path in old:
        tree: Any = "set"
        for key in reversed(path.split(".")):
            tree = {key: tree}
        values.write_text(yaml.safe_dump(tree))

        with pytest.raises(HelmError, match=f"{re.escape(path)}: of Karpenter before 1.0"):
            render(helm, CHART, "--values", MINIMAL, "--values", values)
    assert len(old) > 30


@pytest.mark.parametrize(
    ("version", "api"), [("1.29.0", "v1"), ("1.28.9", "v1beta3"), ("1.26.0-eks-1", "v1beta3")]
)
def test_flow_control_is_of_the_api_that_the_cluster_serves(helm: Helm, version: str, api: str) -> None:
    words = ("--values", MINIMAL, "--set", "flowSchema.enabled=true")
    rendered = documents(render(helm, CHART, *words, version=version))

    apis = [t["apiVersion"] for t in rendered if t["kind"] in {"FlowSchema", "PriorityLevelConfiguration"}]
    assert apis == [f"flowcontrol.apiserver.k8s.io/{api}"] * 3


def test_flow_control_is_refused_where_the_cluster_has_none_that_fits(helm: Helm) -> None:
    with pytest.raises(HelmError, match=r"flowSchema\.enabled: Kubernetes v1\.25\.3 has no API"):
        render(helm, CHART, "--values", MINIMAL, "--set", "flowSchema.enabled=true", version="1.25.3")


def test_the_rules_of_prometheus_are_those_of_deploy_prometheus(helm: Helm) -> None:
    rendered = documents(
        render(
            helm,
            CHART,
            "--values",
            MINIMAL,
            "--set",
            "prometheusRule.enabled=true,prometheusRule.additionalLabels.a=b",
        )
    )
    rule = of_kind(rendered, "PrometheusRule")

    assert rule["spec"] == yaml.safe_load(RULES.read_text())
    assert rule["metadata"]["labels"]["a"] == "b"


def test_every_value_is_in_the_schema_and_in_the_file_with_everything() -> None:
    everything = paths(yaml.safe_load(VALUES["everything"].read_text()))

    lacking = {p for p in paths(default_values()) if not any(f"{e}/".startswith(f"{p}/") for e in everything)}
    # These are passed on as they are.
    assert {
        path for path in lacking if not path.startswith(("/affinity/", "/nodeSelector/", "/strategy/"))
    } == set()


def paths(tree: Any, at: str = "") -> set[str]:
    """Return the paths of a tree's values; maps that are empty are values."""
    if not isinstance(tree, dict) or not tree:
        return {at}
    return {found for key, value in tree.items() for found in paths(value, f"{at}/{key}")}


# --- the definitions


def test_the_chart_of_definitions_holds_those_of_deploy_crds(helm: Helm) -> None:
    rendered = documents(render(helm, CRD_CHART, "--set", "keep=false,capacityBuffers=true"))
    definitions = {t["metadata"]["name"]: t for t in rendered if t["kind"] == "CustomResourceDefinition"}
    kept = {
        one["metadata"]["name"]: one
        for path in sorted((ROOT / "deploy" / "crds").glob("*.yaml"))
        for one in documents(path.read_text())
    }

    assert definitions == kept


def test_the_definition_that_other_autoscalers_bring_too_is_there_where_it_is_asked_for(helm: Helm) -> None:
    rendered = documents(render(helm, CRD_CHART))

    assert all(t["metadata"]["name"] != "capacitybuffers.autoscaling.x-k8s.io" for t in rendered)


def test_definitions_name_the_webhook_of_the_release_and_stay_when_it_goes(helm: Helm) -> None:
    rendered = documents(
        render(
            helm,
            CRD_CHART,
            "--set",
            "webhook.serviceName=other,webhook.serviceNamespace=apart,webhook.port=9443",
        )
    )
    definitions = [one for one in rendered if one["kind"] == "CustomResourceDefinition"]
    converted = [one["spec"]["conversion"]["webhook"] for one in definitions if "conversion" in one["spec"]]

    assert {one["metadata"]["annotations"]["helm.sh/resource-policy"] for one in definitions} == {"keep"}
    assert len(converted) == 3
    for webhook in converted:
        place = {"name": "other", "namespace": "apart", "path": "/convert", "port": 9443}
        assert webhook["clientConfig"] == {"service": place}


def test_definitions_can_name_a_webhook_outside_of_the_cluster(helm: Helm) -> None:
    rendered = documents(render(helm, CRD_CHART, "--set", "webhook.url=https://10.0.0.1:8443/convert"))
    conversions = [one["spec"]["conversion"] for one in rendered if one["spec"].get("conversion")]

    assert len(conversions) == 3
    for conversion in conversions:
        assert conversion["webhook"]["clientConfig"] == {"url": "https://10.0.0.1:8443/convert"}


def test_warnings_come_with_the_definitions_unless_they_are_unwanted(helm: Helm) -> None:
    policies = documents((CRD_CHART / "warnings.yaml").read_text())

    def rendered(*words: str) -> list[Tree]:
        everything = documents(render(helm, CRD_CHART, *words))
        return [one for one in everything if one["kind"] != "CustomResourceDefinition"]

    assert sorted(rendered(), key=named) == sorted(policies, key=named)
    assert rendered("--set", "warnings=false") == []
