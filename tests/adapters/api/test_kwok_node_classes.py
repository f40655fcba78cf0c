from __future__ import annotations

from typing import Any

from tests.adapters.api.builders import decoded, problem_of, read
from treenail.domain.model.node_classes import NodeClass, NodeClassRef


def tree(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": "default"},
        "spec": spec,
    }


def test_a_class_of_kwok_is_a_node_class_that_says_nothing_of_ec2() -> None:
    own = read(tree(), NodeClass)

    assert own == NodeClass(ref=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default"))


def test_a_class_as_the_api_server_shows_it_is_read_too() -> None:
    shown = {**tree(), "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    shown["metadata"] |= {"uid": "u", "resourceVersion": "7", "generation": 2}

    own = read(shown, NodeClass)

    assert (own.uid, own.resource_version, own.generation) == ("u", 7, 2)


def test_a_delay_of_registration_is_accepted_with_a_warning() -> None:
    text = "apiVersion: karpenter.kwok.sh/v1alpha1\nkind: KWOKNodeClass\nmetadata: {name: default}\n"

    assert decoded(text).warnings == ()
    [warning] = decoded(f"{text}spec: {{nodeRegistrationDelay: 30s}}\n").warnings
    assert "spec.nodeRegistrationDelay: is accepted, but not acted on" in warning


def test_what_is_wrong_with_a_class_of_kwok_is_said() -> None:
    assert problem_of(tree(nodeRegistrationDelay="soon")).startswith(
        "KWOKNodeClass default: spec.nodeRegistrationDelay: "
    )
    assert problem_of(tree(subnetSelectorTerms=[])).startswith(
        "KWOKNodeClass default: spec.subnetSelectorTerms: "
    )
