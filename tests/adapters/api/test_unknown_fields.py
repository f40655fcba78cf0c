from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.adapters.api.builders import problem_of
from tests.adapters.api.core_fields import FILE, fields
from tests.scenarios.manifests import changed, deployment


@pytest.mark.parametrize(
    ("path", "value", "meant"),
    [
        ("spec.replcas", 3, "replicas"),
        ("spec.Replicas", 3, "replicas"),
        ("spec.template.spec.toleratons", [], "tolerations"),
        ("spec.template.spec.nodeselector", {}, "nodeSelector"),
        ("spec.template.spec.topologySpreadConstraint", [], "topologySpreadConstraints"),
        ("spec.template.metadata.label", {}, "labels"),
        ("metadata.namspace", "web", "namespace"),
    ],
)
def test_a_misspelt_field_of_a_core_kind_is_refused_with_the_name_that_was_meant(
    path: str, value: Any, meant: str
) -> None:
    problem = problem_of(changed(deployment(), path, value))

    assert f": {path}: " in problem
    assert problem.endswith(f"did you mean {meant}?")


def test_a_field_within_a_list_is_named_by_its_place() -> None:
    wrong = changed(deployment(), "spec.template.spec.containers", [{"name": "a", "resource": {}}])

    assert ": spec.template.spec.containers[0].resource: " in problem_of(wrong)


def test_a_field_that_is_near_none_may_be_newer_and_is_let_pass() -> None:
    assert problem_of(changed(deployment(), "spec.template.spec.quantumLink", "on")) == "nothing"


def test_what_an_api_server_wrote_is_not_checked_again() -> None:
    stored = changed(changed(deployment(), "metadata.resourceVersion", "7"), "spec.replicaz", 1)

    assert problem_of(stored) == "nothing"


def test_keys_of_mappings_are_anybodys() -> None:
    labelled = changed(deployment(), "spec.template.spec.nodeSelector", {"labels": "x", "nam": "y"})

    assert problem_of(labelled) == "nothing"


def test_the_names_are_those_of_the_kubernetes_client() -> None:
    shipped = msgspec.json.decode(FILE.read_bytes(), type=dict[str, dict[str, str]])

    assert shipped == fields(), "python -m tests.adapters.api.core_fields"
