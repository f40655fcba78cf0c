"""What the chart lets the controller do is what its code does; a test on real parts sees all of it used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tests.cloudformation import allowed_actions
from treenail.adapters.controller.webhook.server import PATH
from treenail.adapters.controller.webhook.webhook import SECRET_NAME, address_of
from treenail.adapters.kubernetes.definitions import CONVERTED, CUSTOM_RESOURCE_DEFINITION
from treenail.adapters.kubernetes.resources import (
    CAPACITY_BUFFER,
    EC2_NODE_CLASS,
    EVENT,
    GATED,
    MACHINE,
    NODE,
    NODE_CLAIM,
    NODE_POOL,
    POD,
    PROVISIONER,
    RESOURCES,
    VOLUME_ATTACHMENT,
    WATCHED,
    Resource,
)
from treenail.adapters.settings.global_settings import NAME
from treenail.adapters.settings.settings import VARIABLES
from treenail.adapters.settings.sources import read_settings

ROOT = Path(__file__).resolve().parent.parent
Tree = dict[str, Any]
RENDERED = ROOT / "tests" / "real" / "charts" / "golden"


def chart(values: str = "minimal") -> list[Tree]:
    """Return the chart as it renders with these values, which a test compares with what Helm makes of it."""
    return [one for one in yaml.safe_load_all((RENDERED / f"{values}.yaml").read_text()) if one]


def the(kind: str, name: str = "treenail", values: str = "minimal") -> Tree:
    [found] = [one for one in chart(values) if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


# What AWS asks for beside the action that is called: a fleet runs instances, which get tags and a role, and a
# profile is made with its tags.
IMPLIED = {"ec2:CreateTags", "ec2:RunInstances", "iam:PassRole", "iam:TagInstanceProfile"}
# SQS asks for the permission of the single call.
BATCHES = {"sqs:DeleteMessageBatch": "sqs:DeleteMessage"}


def _source(adapter: str) -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "adapters" / adapter).rglob("*.py")))


def _action(service: str, method: str) -> str:
    action = f"{service}:{method.title().replace('_', '')}"
    return BATCHES.get(action, action)


def _called() -> set[str]:
    """Return the actions of every client's method that the code names."""
    called = re.findall(r"clients\.(ec2|ssm|pricing|eks|iam)\.([a-z]\w+)", _source("ec2"))
    shifts = re.findall(r"_arc\.([a-z]\w+)", _source("ec2"))
    return {_action(service, method) for service, method in called} | {
        _action("arc-zonal-shift", method) for method in shifts
    }


def test_the_policy_allows_the_calls_that_the_code_makes_and_no_others() -> None:
    received = {_action("sqs", method) for method in re.findall(r"client\.([a-z]\w+)\(", _source("sqs"))}

    assert received == {"sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage"}
    assert allowed_actions() == _called() | received | IMPLIED


def test_the_gate_is_told_of_each_action_by_its_name() -> None:
    # Wherever an action is named, it is in quotes: with its service, or where that is plain without it.
    named = set(re.findall(r'"([A-Z][A-Za-z]+)"', _source("ec2")))

    assert {action.partition(":")[2] for action in _called()} <= named


def _key(resource: Resource, subresource: str = "") -> tuple[str, str]:
    group = resource.api_version.rpartition("/")[0]
    return group, f"{resource.plural}/{subresource}" if subresource else resource.plural


def _needed() -> dict[tuple[str, str], set[str]]:
    needed: dict[tuple[str, str], set[str]] = {_key(resource): set() for resource in RESOURCES.values()}
    for resource in (*WATCHED, *GATED):
        needed[_key(resource)] |= {"list", "watch"}
        if "karpenter" in resource.api_version:
            needed[_key(resource)] |= {"get"}
            needed[_key(resource, "status")] = {"patch"}
        if resource.api_version.startswith("karpenter.sh/") and resource not in GATED:
            needed[_key(resource, "finalizers")] = {"update"}
    for resource in (NODE, NODE_CLAIM, MACHINE):
        needed[_key(resource)] |= {"get", "create", "patch", "delete"}
    # The annotations of their hashes; and the finalizers of one kind: no other is held that others make.
    for resource in (NODE_POOL, PROVISIONER, EC2_NODE_CLASS):
        needed[_key(resource)] |= {"patch"}
    needed[_key(CAPACITY_BUFFER)] |= {"get"}
    needed[_key(CAPACITY_BUFFER, "status")] = {"patch"}
    needed[_key(VOLUME_ATTACHMENT)] = {"list", "watch"}
    needed[_key(EVENT)] |= {"create", "patch"}
    needed[_key(POD)] |= {"delete"}
    for subresource in ("binding", "eviction"):
        needed[_key(POD, subresource)] = {"create"}
    needed[_key(CUSTOM_RESOURCE_DEFINITION)] = {"get", "patch"}
    return needed


def test_the_role_covers_every_kind_that_is_read_or_written_and_no_other() -> None:
    role = the("ClusterRole", "node-autoscaler", "everything")
    allowed: dict[tuple[str, str], set[str]] = {}
    for rule in role["rules"]:
        for group in rule.get("apiGroups", ()):
            if group == "example.test":  # of additionalClusterRoleRules
                continue
            for resource in rule["resources"]:
                allowed.setdefault((group, resource), set()).update(rule["verbs"])

    assert allowed == _needed()
    assert {"nonResourceURLs": ["/version"], "verbs": ["get"]} in role["rules"]


def test_nodes_are_made_and_pods_bound_only_where_a_setting_asks_for_it() -> None:
    def rules(values: str) -> set[tuple[str, str]]:
        found = the("ClusterRole", values=values)["rules"]
        return {(verb, resource) for r in found for resource in r.get("resources", ()) for verb in r["verbs"]}

    assert {("create", "nodes"), ("create", "pods/binding")}.isdisjoint(rules("minimal"))
    assert ("create", "nodes") in rules("kwok")
    assert ("create", "pods/binding") not in rules("kwok")


def test_the_subresources_are_those_that_the_code_writes() -> None:
    source = _source("kubernetes")
    written = set(re.findall(r'\.path\(name, namespace, "(\w+)"\)|subresource="(\w+)"', source))

    assert {first or second for first, second in written} == {"binding", "eviction", "status"}


def test_the_roles_are_bound_to_the_account() -> None:
    account = the("ServiceAccount")["metadata"]
    roles = {(r["kind"], r["metadata"]["name"]) for r in chart() if r["kind"] in ("ClusterRole", "Role")}
    bindings = [b for b in chart() if b["kind"] in ("ClusterRoleBinding", "RoleBinding")]

    # That one is of people.
    assert {(b["roleRef"]["kind"], b["roleRef"]["name"]) for b in bindings} == roles - {
        ("ClusterRole", "treenail-admin")
    }
    for binding in bindings:
        subject = {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
        assert binding["subjects"] == [subject]
        assert binding["metadata"]["name"] == binding["roleRef"]["name"]


def test_of_one_namespace_no_more_is_read_than_a_config_map_a_secret_and_a_lease() -> None:
    own, leases = the("Role"), the("Role", "treenail-leader-election")
    (lease,) = [v.default for v in VARIABLES if v.name == "LEADER_ELECTION_NAME"]

    assert own["metadata"]["namespace"] == the("ServiceAccount")["metadata"]["namespace"]
    assert [(r["resources"], r.get("resourceNames"), r["verbs"]) for r in own["rules"] + leases["rules"]] == [
        (["configmaps"], [NAME], ["get"]),
        (["secrets"], [SECRET_NAME], ["get", "patch"]),
        (["leases"], [lease], ["get", "patch"]),
        (["leases"], None, ["create"]),
    ]


def test_the_secret_that_is_filled_ships_empty() -> None:
    secret = the("Secret", SECRET_NAME)

    assert secret.keys().isdisjoint({"data", "stringData"})
    assert not [one for one in chart("kwok") if one["kind"] == "Secret"]


def test_no_more_definitions_are_written_than_those_whose_objects_are_converted() -> None:
    rules = [r for r in the("ClusterRole")["rules"] if r.get("apiGroups") == ["apiextensions.k8s.io"]]

    assert [rule["resourceNames"] for rule in rules] == [[str(resource) for resource in CONVERTED]]


def test_the_service_leads_where_the_definitions_say_that_conversions_are_served() -> None:
    service = the("Service")
    address = address_of(read_settings({"CLUSTER_NAME": "demo"}, {}), 8443)

    assert address.place == {
        "service": {**{k: service["metadata"][k] for k in ("name", "namespace")}, "path": PATH, "port": 8443}
    }
    [container] = the("Deployment")["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    served = {port["port"]: ports[port["targetPort"]] for port in service["spec"]["ports"]}
    assert served == {8080: 8080, 8443: 8443}
    for resource in CONVERTED:
        group = resource.api_version.partition("/")[0]
        definition = yaml.safe_load((ROOT / f"deploy/crds/{group}_{resource.plural}.yaml").read_text())
        assert definition["spec"]["conversion"]["webhook"]["clientConfig"] == address.place
