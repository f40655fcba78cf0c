"""Objects that break a rule, sent to the API server itself."""

from __future__ import annotations

import pytest

from tests.adapters.api.schema.refused import REFUSED
from tests.real.kubernetes.definitions import place, refusal
from tests.real.parts.control_plane import ControlPlane
from treenail.adapters.api.schema.catalogue import DEFINITIONS
from treenail.adapters.api.schema.constraints import paths


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_bad_object_is_refused_with_the_field_that_is_wrong_and_why(
    server: ControlPlane, case: str
) -> None:
    tree, field, says, _ = REFUSED[case]

    assert says in refusal(server, "POST", f"{place(tree)}?dryRun=All", tree).get(field, "")


def test_every_rule_is_broken_by_some_object_of_the_tables(server: ControlPlane) -> None:
    said = [
        message
        for tree, *_ in REFUSED.values()
        for message in refusal(server, "POST", f"{place(tree)}?dryRun=All", tree).values()
    ]
    rules = {
        rule["message"]
        for definition in DEFINITIONS
        for version in definition.versions
        for _, schema in paths(version.schema())
        for rule in schema.get("x-kubernetes-validations", ())
        if "oldSelf" not in rule["rule"]
    }

    assert sorted(rule for rule in rules if not any(rule in message for message in said)) == []
