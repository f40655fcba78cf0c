"""What is converted means the same: deciding with both gives the same nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.command import EXAMPLES, treenail
from tests.adapters.cli.convert.cases import BY_IDS, PROVISIONERS, TEMPLATES, template

PODS = """
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 7
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: pause, resources: {requests: {cpu: 1500m, memory: 2Gi}}}]
"""
BOTH = {
    **{f"Provisioner: {name}": f"{own}---{template()}" for name, own in PROVISIONERS.items()},
    **{
        f"AWSNodeTemplate: {name}": f"{PROVISIONERS['some requirements']}---{own}"
        for name, own in TEMPLATES.items()
        if name != BY_IDS  # There are no images of these ids to decide with.
    },
}
# What only says which pool and class it is of, in the words of each generation.
NAMES = {"karpenter.sh/provisioner-name", "karpenter.sh/nodepool", "karpenter.k8s.aws/ec2nodeclass"}
WITHIN = "Provisioner: a provider within"
BOTH[WITHIN] = PROVISIONERS["a provider within"]


def decided(text: str, tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "decided.yaml"
    file.write_text(text)
    ran = treenail("simulate", "-f", str(file), "-o", "json")
    assert ran.code == 0, ran.err
    made: dict[str, Any] = json.loads(ran.out)
    return made


def nodes(text: str, tmp_path: Path) -> list[Any]:
    """The nodes to buy: of which pool, which types at which price, with which labels, for which pods."""
    made = decided(text, tmp_path)
    assert made["nodeClaims"]
    assert made["refused"] == []
    for one in made["nodeClaims"]:
        one["requirements"] = [r for r in one["requirements"] if r["key"] not in NAMES]
    return list(made["nodeClaims"])


def converted(text: str, to: str, tmp_path: Path) -> str:
    file = tmp_path / "old.yaml"
    file.write_text(text)
    ran = treenail("convert", "-f", str(file), "--to", to)
    assert ran.code == 0, ran.err
    return ran.out


@pytest.mark.parametrize("to", ["v1beta1", "v1"])
@pytest.mark.parametrize("case", sorted(BOTH))
def test_what_is_converted_buys_the_same_nodes(case: str, to: str, tmp_path: Path) -> None:
    text = BOTH[case] + PODS

    assert nodes(converted(text, to, tmp_path), tmp_path) == nodes(text, tmp_path)


@pytest.mark.parametrize("to", ["v1beta1", "v1"])
def test_the_first_walkthrough_buys_the_same_node_in_every_generation(to: str, tmp_path: Path) -> None:
    text = (EXAMPLES / "000-multi-provisioner.yaml").read_text()

    made = nodes(converted(text, to, tmp_path), tmp_path)

    assert made == nodes(text, tmp_path)
    assert [one["nodePool"] for one in made] == ["team-provisioner"]
