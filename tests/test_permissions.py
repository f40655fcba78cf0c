"""What `deploy` lets the controller do is what its code does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from treenail.adapters.kubernetes.resources import (
    EVENT,
    MACHINE,
    NODE,
    NODE_CLAIM,
    POD,
    RESOURCES,
    WATCHED,
    Resource,
)
from treenail.domain.fleets import CLUSTER_TAG

ROOT = Path(__file__).resolve().parent.parent
POLICY: dict[str, Any] = json.loads((ROOT / "deploy" / "iam-policy.json").read_text())
RBAC: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / "deploy" / "rbac.yaml").read_text()))

# What AWS asks for beside the action that is called: a fleet runs instances, which get tags and a role.
IMPLIED = {"ec2:RunInstances", "ec2:CreateTags", "iam:PassRole"}
# SQS asks for the permission of the single call.
BATCHES = {"sqs:DeleteMessageBatch": "sqs:DeleteMessage"}


def _source(adapter: str) -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "adapters" / adapter).rglob("*.py")))


def _action(service: str, method: str) -> str:
    action = f"{service}:{method.title().replace('_', '')}"
    return BATCHES.get(action, action)


def _told_to_the_gate() -> set[str]:
    named = re.findall(r'\.(?:call|ask|pages)\(\s*"(\w+)",\s*"(\w+)"', _source("ec2"))
    return {f"{service}:{action}" for service, action in named}


def _listed() -> list[str]:
    actions: list[str] = []
    for statement in POLICY["Statement"]:
        assert statement["Effect"] == "Allow"
        actions += statement["Action"]
    return actions


def test_the_policy_allows_the_calls_that_the_code_makes_and_no_others() -> None:
    received = {_action("sqs", method) for method in re.findall(r"client\.([a-z]\w+)\(", _source("sqs"))}
    listed = _listed()

    assert received == {"sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage"}
    assert sorted(listed) == sorted(_told_to_the_gate() | received | IMPLIED)


def test_the_gate_is_told_of_each_action_under_its_name() -> None:
    called = re.findall(r"clients\.(ec2|ssm|pricing|eks|iam)\.([a-z]\w+)", _source("ec2"))

    assert {_action(service, method) for service, method in called} == _told_to_the_gate()


def test_only_what_bears_the_tag_of_a_cluster_may_be_ended() -> None:
    (ending,) = [s for s in POLICY["Statement"] if "ec2:TerminateInstances" in s["Action"]]

    assert ending["Condition"] == {"Null": {f"aws:ResourceTag/{CLUSTER_TAG}": "false"}}


def _key(resource: Resource, subresource: str = "") -> tuple[str, str]:
    group = resource.api_version.rpartition("/")[0]
    return group, f"{resource.plural}/{subresource}" if subresource else resource.plural


def _needed() -> dict[tuple[str, str], set[str]]:
    needed: dict[tuple[str, str], set[str]] = {_key(resource): set() for resource in RESOURCES.values()}
    for resource in WATCHED:
        # One is read alone for its uid too, where an event is about it.
        needed[_key(resource)] |= {"get", "list", "watch"}
        if "karpenter" in resource.api_version:
            needed[_key(resource, "status")] = {"patch"}
        if resource.api_version.startswith("karpenter.sh/"):
            needed[_key(resource, "finalizers")] = {"update"}
    for resource in (NODE, NODE_CLAIM, MACHINE):
        needed[_key(resource)] |= {"create", "patch", "delete"}
    needed[_key(EVENT)] |= {"create", "patch"}
    needed[_key(POD)] |= {"delete"}
    for subresource in ("binding", "eviction"):
        needed[_key(POD, subresource)] = {"create"}
    return needed


def test_the_role_covers_every_kind_that_is_read_or_written_and_no_other() -> None:
    _, role, _ = RBAC
    allowed: dict[tuple[str, str], set[str]] = {}
    for rule in role["rules"]:
        for group in rule.get("apiGroups", ()):
            for resource in rule["resources"]:
                allowed.setdefault((group, resource), set()).update(rule["verbs"])

    assert allowed == _needed()
    assert {"nonResourceURLs": ["/version"], "verbs": ["get"]} in role["rules"]


def test_the_subresources_are_those_that_the_code_writes() -> None:
    source = _source("kubernetes")
    written = set(re.findall(r'\.path\(name, namespace, "(\w+)"\)|subresource="(\w+)"', source))

    assert {first or second for first, second in written} == {"binding", "eviction", "status"}


def test_the_role_is_bound_to_the_account() -> None:
    account, role, binding = RBAC

    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", **account["metadata"]}]
