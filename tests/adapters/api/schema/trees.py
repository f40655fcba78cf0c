"""Manifests to break a rule with."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tests.adapters.api.builders import node_class_tree, node_pool_tree, provisioner_tree

Tree = dict[str, Any]


class Refused(NamedTuple):
    """An object that breaks a rule, the field that must be named, and what must be said of it.

    `says` is part of what the API server says, `reads` of what reading says, "" where that is the same.
    """

    tree: Tree
    field: str
    says: str
    reads: str = ""


TAGGED: Final = [{"tags": {"a": "b"}}]
PROVIDER: Final = {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}}
TEMPLATE: Final = {"subnetSelector": {"a": "b"}, "launchTemplate": "mine"}
KWOK: Final = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
TAINT: Final = {"key": "a", "effect": "NoSchedule"}
LONG: Final = "99999999h"


def claim(**spec: Any) -> Tree:
    own = {"requirements": [], "nodeClassRef": KWOK, **spec}
    return thing("karpenter.sh/v1", "NodeClaim", own)


def machine(**spec: Any) -> Tree:
    return thing("karpenter.sh/v1alpha5", "Machine", spec)


def template(**spec: Any) -> Tree:
    return thing("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", {**PROVIDER, **spec})


def only(tree: Tree, **spec: Any) -> Tree:
    return {**tree, "spec": spec}


def thing(version: str, kind: str, spec: Tree) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "default"}, "spec": spec}


def asking(key: str, operator: str, *values: str, **others: Any) -> Tree:
    return {"requirements": [{"key": key, "operator": operator, "values": list(values), **others}]}


def pool(**own: Any) -> Tree:
    return node_pool_tree(own)


def labelled(**labels: str) -> Tree:
    tree = node_pool_tree()
    tree["spec"]["template"]["metadata"] = {"labels": labels}
    return tree


def annotated(key: str) -> Tree:
    tree = node_pool_tree()
    tree["spec"]["template"]["metadata"] = {"annotations": {key: ""}}
    return tree


def budget(**own: Any) -> Tree:
    return node_pool_tree(disruption={"budgets": [own]})


def kubelet(**own: Any) -> Tree:
    return node_class_tree(kubelet=own)


def volume(**ebs: Any) -> Tree:
    return node_class_tree(blockDeviceMappings=[{"ebs": {"volumeSize": "10G", **ebs}}])


def old(**provider: Any) -> Tree:
    return only(provisioner_tree(), provider={**PROVIDER, **provider})


def beta_pool(template: Tree | None = None, **spec: Any) -> Tree:
    own = {"requirements": [], "nodeClassRef": {"name": "default"}, **(template or {})}
    return thing("karpenter.sh/v1beta1", "NodePool", {"template": {"spec": own}, **spec})


def beta_claim(**spec: Any) -> Tree:
    own = {"requirements": [], "nodeClassRef": {"name": "default"}, **spec}
    return thing("karpenter.sh/v1beta1", "NodeClaim", own)


def beta_class(**spec: Any) -> Tree:
    own = {"role": "node", "amiFamily": "AL2", **spec}
    terms = {"subnetSelectorTerms": TAGGED, "securityGroupSelectorTerms": TAGGED}
    return thing("karpenter.k8s.aws/v1beta1", "EC2NodeClass", {**terms, **own})
