"""What the charts render is what a real API server takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.real.charts.rendering import (
    CHART,
    CRD_CHART,
    NAMESPACE,
    VALUES,
    Tree,
    documents,
    golden,
    of_kind,
    render,
)
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.helm import Helm
from treenail.adapters.controller.webhook.webhook import SECRET_NAME
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.shared_secret import SharedSecret

# What the server says of a field that it does not know, or that is there twice.
STRICT: Final = "dryRun=All&fieldValidation=Strict"
PLURALS: Final = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "CustomResourceDefinition": "customresourcedefinitions",
    "Deployment": "deployments",
    "FlowSchema": "flowschemas",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "PriorityLevelConfiguration": "prioritylevelconfigurations",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Secret": "secrets",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
# The Prometheus operator's, which is not there.
FOREIGN: Final = {"PrometheusRule", "ServiceMonitor"}
NAMESPACES: Final = "/api/v1/namespaces"
RESTRICTED: Final = "restricted-here"
JAEGER: Final = Path(__file__).parents[3] / "deploy" / "jaeger" / "jaeger.yaml"


def path_of(thing: Tree) -> str:
    group = "api" if "/" not in thing["apiVersion"] else "apis"
    namespace = thing["metadata"].get("namespace")
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"/{group}/{thing['apiVersion']}{within}/{PLURALS[thing['kind']]}"


def refusals(server: ControlPlane, things: list[Tree]) -> list[str]:
    answers = [
        server.request("POST", f"{path_of(t)}?{STRICT}", t) for t in things if t["kind"] not in FOREIGN
    ]
    return [str(answer) for status, answer in answers if status != 201]


@pytest.fixture(scope="module")
def namespace(api_server: ControlPlane) -> Iterator[str]:
    """A namespace in which pods must meet the Pod Security Standard `restricted`."""
    enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
    status, answer = api_server.request(
        "POST", NAMESPACES, {"metadata": {"name": RESTRICTED, "labels": enforced}}
    )
    assert status == 201, answer
    yield RESTRICTED
    api_server.request("DELETE", f"{NAMESPACES}/{RESTRICTED}")


@pytest.mark.parametrize("name", VALUES)
def test_every_object_of_the_chart_is_taken(api_server: ControlPlane, name: str) -> None:
    things = documents(golden(name))
    assert {thing["kind"] for thing in things} <= PLURALS.keys() | FOREIGN
    for one in {t["metadata"].get("namespace", "default") for t in things}:
        api_server.request("POST", NAMESPACES, {"metadata": {"name": one}})

    assert refusals(api_server, things) == []


def test_every_object_of_the_chart_of_definitions_is_taken(api_server: ControlPlane, helm: Helm) -> None:
    assert refusals(api_server, documents(render(helm, CRD_CHART))) == []


def test_every_object_of_jaegers_manifests_is_taken_and_its_pod_meets_the_restricted_standard(
    api_server: ControlPlane, namespace: str
) -> None:
    things = documents(JAEGER.read_text())
    api_server.request("POST", NAMESPACES, {"metadata": {"name": "jaeger"}})
    template = of_kind(things, "Deployment")["spec"]["template"]
    pod = {**template, "metadata": {**template["metadata"], "name": "jaeger"}}

    assert refusals(api_server, things) == []
    status, answer = api_server.request("POST", f"{NAMESPACES}/{namespace}/pods?{STRICT}", pod)
    assert status == 201, answer


@pytest.mark.parametrize("name", ["minimal", "kwok"])
def test_its_pods_meet_the_restricted_standard(api_server: ControlPlane, namespace: str, name: str) -> None:
    template = of_kind(documents(golden(name)), "Deployment")["spec"]["template"]
    pod = {**template, "metadata": {**template["metadata"], "name": "treenail"}}
    where = f"{NAMESPACES}/{namespace}/pods?{STRICT}"

    status, answer = api_server.request("POST", where, pod)

    assert status == 201, answer
    loose = {**pod, "spec": {**pod["spec"], "hostNetwork": True}}
    assert api_server.request("POST", where, loose)[0] == 403


def test_a_secret_that_a_controller_outside_of_the_cluster_made_is_taken_over_with_what_it_holds(
    api_server: ControlPlane, tmp_path: Path
) -> None:
    api_server.request("POST", NAMESPACES, {"metadata": {"name": NAMESPACE}})
    connection = Connection.open(kubeconfig=api_server.kubeconfig, qps=100, burst=100)
    secret = SharedSecret(ApiCalls(connection), name=SECRET_NAME, namespace=NAMESPACE, release="treenail")
    secret.write({"tls.key": b"kept"}, None)
    helm = Helm(tmp_path, api_server.kubeconfig)

    helm("install", "treenail", CHART, "--namespace", NAMESPACE, "--values", VALUES["minimal"])

    held = secret.read()
    connection.close()
    helm("uninstall", "treenail", "--namespace", NAMESPACE)
    assert held is not None
    assert held.data == {"tls.key": b"kept"}
