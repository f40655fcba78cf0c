"""References to node classes."""

from __future__ import annotations

from treenail.adapters.api.karpenter.references import (
    AWS,
    EC2_NODE_CLASS,
    NO_NODE_CLASS,
    NODE_CLASS_KINDS,
    NODE_TEMPLATE,
)
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule
from treenail.adapters.api.schema.rules.forms import NAMES


def node_class_ref(path: str, *, lasting: bool) -> Constraints:
    """Return the rules for a reference by group and kind; a `lasting` one may change its name only."""
    known = " || ".join(
        f"(self.group == {cel.text(group)} && self.kind in {cel.texts(kinds)})"
        for group, kinds in sorted(NODE_CLASS_KINDS.items())
    )
    rules = [Rule(known, NO_NODE_CLASS)]
    if lasting:
        rules += [
            Rule(f"self.{field} == oldSelf.{field}", "must not be changed", field)
            for field in ("group", "kind")
        ]
    return {path: Constraint(rules), f"{path}.name": NAMES}


def node_class_by_version(path: str) -> Constraints:
    """Return the rules for a reference by apiVersion and kind, by name alone to an EC2NodeClass."""
    kind = f"(has(self.kind) && self.kind != '' ? self.kind : {cel.text(EC2_NODE_CLASS)})"
    plain = "(!has(self.apiVersion) || self.apiVersion == '' || self.apiVersion.startsWith('/'))"
    known = " || ".join(
        f"(self.apiVersion.matches({_of_group(group, '(/.*)?')}) && {kind} in {cel.texts(kinds)})"
        for group, kinds in sorted(NODE_CLASS_KINDS.items())
    )
    own = f"{kind} in {cel.texts(NODE_CLASS_KINDS[AWS])}"
    return {path: Constraint([Rule(f"{plain} ? {own} : ({known})", NO_NODE_CLASS)]), f"{path}.name": NAMES}


def provider_ref(path: str) -> Constraints:
    """Return the rules for a reference by apiVersion and kind, where both may be left out."""
    kind = f"(has(self.kind) && self.kind != '' ? self.kind : {cel.text(NODE_TEMPLATE)})"
    grouped = "(has(self.apiVersion) && self.apiVersion.contains('/'))"
    every = sorted(kind for kinds in NODE_CLASS_KINDS.values() for kind in kinds)
    known = " || ".join(
        f"(self.apiVersion.matches({_of_group(group)}) && {kind} in {cel.texts(kinds)})"
        for group, kinds in sorted(NODE_CLASS_KINDS.items())
    )
    return {
        path: Constraint([Rule(f"{grouped} ? ({known}) : {kind} in {cel.texts(every)}", NO_NODE_CLASS)]),
        f"{path}.name": NAMES,
    }


def _of_group(group: str, version: str = "/[^/]*") -> str:
    pattern = group.replace(".", "[.]")
    return cel.text(f"^{pattern}{version}$")
