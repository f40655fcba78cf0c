"""The provider of v1alpha1: the spec of an AWSNodeTemplate, or a part of a Provisioner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from treenail.adapters.api.aws.v1alpha1_provider import RESTRICTED_TAGS
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule, below
from treenail.adapters.api.schema.rules.launch import block_devices, tags

# One value, or several with commas between.
_LISTED: Final = Constraint(keywords={"pattern": r"^\s*[^,\s][^,]*(,\s*[^,\s][^,]*)*$"})
_KEYS: Final = Rule("self.all(k, k != '')", "a key must not be empty")
_IDS: Final = ("aws-ids", "aws::ids")
_NONE: Final[Mapping[str, Any]] = {}
_SAID_BY_TEMPLATE: Final = "cannot stand beside launchTemplate, which says it"


def provider(path: str, *own: Rule, keywords: Mapping[str, Any] = _NONE) -> Constraints:
    """Return the rules for the provider at `path`, and the kind's `own` rules and keywords for it."""
    return below(
        path,
        {"": Constraint([*_together(), *own], keywords)},
        _selector("subnetSelector", "subnet-"),
        _selector("securityGroupSelector", "sg-"),
        tags("tags", restricted=RESTRICTED_TAGS, prefix="kubernetes.io/cluster/"),
        block_devices("blockDeviceMappings", named=True),
    )


def _together() -> Iterator[Rule]:
    yield Rule(cel.given("subnetSelector"), "is missing", "subnetSelector")
    yield Rule(
        f"has(self.launchTemplate) || {cel.given('securityGroupSelector')}",
        "is missing: it is needed without launchTemplate",
        "securityGroupSelector",
    )
    yield from said_by_template(
        ("blockDeviceMappings", "securityGroupSelector"), ("amiFamily", "instanceProfile", "metadataOptions")
    )


def said_by_template(sized: tuple[str, ...], others: tuple[str, ...] = ()) -> Iterator[Rule]:
    """Yield the rules against fields beside a launch template; the `sized` ones may be there if empty."""
    for field in sized:
        yield Rule(f"!has(self.launchTemplate) || !{cel.given(field)}", _SAID_BY_TEMPLATE, field)
    for field in others:
        yield Rule(f"!has(self.launchTemplate) || !has(self.{field})", _SAID_BY_TEMPLATE, field)


def _selector(path: str, prefix: str) -> Constraints:
    alone = " || ".join(f"{cel.text(key)} in self" for key in _IDS)
    rules = [
        _KEYS,
        Rule(f"!({alone}) || size(self) == 1", f"{_IDS[0]} cannot stand beside other keys"),
        *ids(prefix),
    ]
    return {path: Constraint(rules), path + "{}": _LISTED}


def ids(prefix: str) -> Iterator[Rule]:
    """Yield the rules that the ids of a selector begin with `prefix`."""
    pattern = cel.text(rf"^\s*{prefix}[0-9a-z][^,]*(,\s*{prefix}[0-9a-z][^,]*)*$")
    for key in _IDS:
        name = cel.text(key)
        yield Rule(f"!({name} in self) || self[{name}].matches({pattern})", f"{key} must be {prefix}...")


def image_selector(path: str) -> Constraints:
    """Return the rules for the selector of images at `path`."""
    return {path: Constraint([_KEYS, *ids("ami-")]), path + "{}": _LISTED}
