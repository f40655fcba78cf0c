"""What `treenail convert` neither converts nor passes over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.cli.convert.converting import convert

POOL = """apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: default}
spec: {template: {spec: {nodeClassRef: {name: default}, requirements: []}}}
"""
OTHER = """---
apiVersion: v1
kind: Secret
metadata: {name: own}
data: {value: VALUE}
"""

REFUSED = {
    "kind is a list": ("kind: [x]", "object (number 2): kind: is missing, or no text"),
    "kind is a mapping": ("kind: {a: b}", "object (number 2): kind: is missing, or no text"),
    "no version": (
        "kind: NodePool\nmetadata: {name: a}",
        "NodePool a: apiVersion: is missing, or no text; NodePool is of karpenter.sh/v1 or",
    ),
    "version is a list": (
        "apiVersion: [x]\nkind: Provisioner\nmetadata: {name: a}",
        "Provisioner a: apiVersion: is missing, or no text; Provisioner is of karpenter.sh/v1alpha5",
    ),
    "kind written wrong": (
        "apiVersion: karpenter.sh/v1\nkind: Nodepool\nmetadata: {name: a}",
        'Nodepool a: kind: "Nodepool" is not known; did you mean NodePool?',
    ),
    "list of a kind": (
        "apiVersion: karpenter.sh/v1\nkind: NodePoolList\nitems: []",
        'NodePoolList (number 2): kind: "NodePoolList" is not known; did you mean NodePool?',
    ),
    "list without items": (
        "apiVersion: v1\nkind: List\nitems: {a: b}",
        "List (number 2): items: must be a list of objects",
    ),
    "set for text": (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a, annotations: {b: !!set {d, c}}}",
        "NodePool a: metadata.annotations.b: expected text, got a set",
    ),
    "binary data for text": (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a, annotations: {b: !!binary aGk=}}",
        "NodePool a: metadata.annotations.b: expected text, got binary data",
    ),
    "set for an object": ("!!set {b, a}", "an object with apiVersion and kind is expected, not a set"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_may_be_meant_for_us_is_refused_as_elsewhere(file: Path, case: str) -> None:
    written, problem = REFUSED[case]

    ran = convert(file, f"{POOL}---\n{written}\n")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"treenail: {file}: {problem}")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("kind", ["NodePool", "EC2NodeClass"])
def test_kinds_of_others_with_names_like_ours_stay_as_they_are(file: Path, kind: str) -> None:
    other = f"apiVersion: example.com/v1\nkind: {kind}\nmetadata: [1]\n"

    ran = convert(file, f"{POOL}---\n{other}")

    assert ran.code == 0, ran.err
    assert ran.out.endswith(f"---\n{other}")


def test_a_machine_stays_as_it_is(file: Path) -> None:
    machine = "apiVersion: karpenter.sh/v1alpha5\nkind: Machine\nmetadata: {name: a}\nspec: {}\n"

    assert convert(file, machine).out == machine


def test_binary_data_is_base64_in_json(file: Path) -> None:
    ran = convert(file, POOL + OTHER.replace("VALUE", "!!binary aGk="), "-o", "json")

    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["items"][1]["data"] == {"value": "aGk="}


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("!!set {a, b}", "a set"),
        ("!!timestamp 2026-05-01", "the time 2026-05-01"),
        (".nan", "a number that is not finite"),
        ("-.inf", "a number that is not finite"),
    ],
)
def test_what_json_has_no_word_for_is_refused_in_json(file: Path, value: str, what: str) -> None:
    ran = convert(file, POOL + OTHER.replace("VALUE", value), "-o", "json")

    problem = f"{file}: Secret own: cannot be written as JSON: it holds {what}"
    assert (ran.code, ran.out, ran.err) == (2, "", f"treenail: {problem}\n")
