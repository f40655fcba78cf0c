from __future__ import annotations

import json
from typing import Any, TypeVar

import yaml

from treenail.adapters.api.manifests import Decoded, ManifestError, decode, decode_all, parse_manifests
from treenail.adapters.api.workloads import ApiObject
from treenail.domain.model.pods import Pod

T = TypeVar("T")

FILE = "x.yaml"
PAUSE = {"name": "c", "image": "pause"}


def decoded(text: str, **options: Any) -> Decoded:
    return decode_all(parse_manifests(text.encode(), FILE), **options)


def problem(text: str, **options: Any) -> str:
    """The one line that says what is wrong with `text`, less the file."""
    try:
        decoded(text, **options)
    except ManifestError as error:
        line = str(error)
        assert "\n" not in line
        assert line.startswith(f"{FILE}: ")
        return line.removeprefix(f"{FILE}: ")
    return "nothing"


def read(tree: dict[str, Any], kind: type[T]) -> T:
    """The one object of `kind` that `tree` stands for; JSON text and YAML agree on it."""
    (from_json,) = parse_manifests(json.dumps(tree).encode(), FILE)
    (from_yaml,) = parse_manifests(yaml.safe_dump(tree).encode(), FILE)
    objects: tuple[ApiObject, ...] = decode(from_json)
    assert objects == decode(from_yaml)
    (found,) = (one for one in objects if isinstance(one, kind))
    return found


def pod_tree(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [PAUSE], **spec},
    }


def a_pod(**spec: Any) -> Pod:
    return read(pod_tree(**spec), Pod)


def provisioner_tree(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "default"},
        "spec": {"providerRef": {"name": "default"}, **spec},
    }


def node_pool_tree(template: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    own = {"requirements": [], "nodeClassRef": ref, **(template or {})}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {"template": {"spec": own}, **spec},
    }


def node_class_tree(**spec: Any) -> dict[str, Any]:
    tags = [{"tags": {"karpenter.sh/discovery": "demo"}}]
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {
            "role": "node",
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": tags,
            "securityGroupSelectorTerms": tags,
            **spec,
        },
    }


def deployment_tree(**spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [PAUSE]}},
            **spec,
        },
    }


def problem_of(*trees: dict[str, Any], **options: Any) -> str:
    return problem(yaml.safe_dump_all(trees), **options)
