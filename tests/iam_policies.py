"""Decides, as IAM does, whether the controller's policy allows a request.

It knows what the policy uses: Allow and Deny, actions and resources with wildcards, and the operators below;
any other operator, and any other part of a statement, is an error, so that a policy that outgrows it fails
its tests.
Rules: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeAlias

from tests.cloudformation import controller_statements, listed

PARTITION, REGION, ACCOUNT, CLUSTER = "aws", "us-east-1", "111122223333", "demo"

_PARAMETERS: Final = {
    "AWS::Partition": PARTITION,
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "ClusterName": CLUSTER,
}
_ARNS: Final = {
    "NodeRole": f"arn:aws:iam::{ACCOUNT}:role/KarpenterNodeRole-{CLUSTER}",
    "InterruptionQueue": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{CLUSTER}",
}

# What a request says under a condition key: one value, or several under a key such as aws:TagKeys.
Context: TypeAlias = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One question that a request puts to IAM: there is one for each resource that it touches."""

    action: str
    resource: str
    context: Context = field(default_factory=dict)


@cache
def resolved_statements() -> list[dict[str, Any]]:
    """Return the controller's statements with their references replaced by what they stand for."""
    return [_resolved(one) for one in controller_statements()]


def _resolved(value: Any) -> Any:
    match value:
        case {"Ref": name}:
            return _PARAMETERS[name]
        case {"Fn::Sub": text}:
            return re.sub(r"\$\{([^}]+)\}", lambda found: _PARAMETERS[found[1]], text)
        case {"Fn::GetAtt": [name, "Arn"]}:
            return _ARNS[name]
        case dict():
            return {key: _resolved(inner) for key, inner in value.items()}
        case list():
            return [_resolved(inner) for inner in value]
        case _:
            return value


def allowing(check: Check, statements: Sequence[Mapping[str, Any]] | None = None) -> tuple[str, ...]:
    """Return the Sids of the statements that allow it; none where it is denied."""
    met = [one for one in statements or resolved_statements() if _matches(one, check)]
    if any(one["Effect"] == "Deny" for one in met):
        return ()
    return tuple(one.get("Sid", "") for one in met)


def _matches(statement: Mapping[str, Any], check: Check) -> bool:
    unknown = statement.keys() - {"Sid", "Effect", "Action", "Resource", "Condition"}
    if unknown:
        raise ValueError(f"not understood in a statement: {', '.join(sorted(unknown))}")
    conditions: Mapping[str, Mapping[str, Any]] = statement.get("Condition", {})
    return (
        any(_like(pattern.lower(), check.action.lower()) for pattern in listed(statement["Action"]))
        and any(_like(pattern, check.resource) for pattern in listed(statement["Resource"]))
        and all(
            _holds(operator, key, listed(values), check.context)
            for operator, keys in conditions.items()
            for key, values in keys.items()
        )
    )


def _holds(operator: str, key: str, wanted: Sequence[str], context: Context) -> bool:
    """Return whether a condition holds. Keys are compared without regard to case, values are not."""
    quantifier, _, plain = operator.rpartition(":")
    base, if_exists = plain.removesuffix("IfExists"), plain.endswith("IfExists")
    values = next((listed_values(v) for k, v in context.items() if k.lower() == key.lower()), None)
    if base == "Null":
        return (values is None) == (wanted == ["true"])
    matches = _OPERATORS.get(base)
    if matches is None:
        raise ValueError(f"not understood: the condition operator {operator}")
    if values is None:
        return if_exists or quantifier == "ForAllValues"
    hits = [any(matches(pattern, value) for pattern in wanted) for value in values]
    match quantifier:
        case "ForAllValues":
            return all(hits)
        case "ForAnyValue":
            return any(hits)
        case "" if len(hits) == 1:
            return hits[0]
        case _:
            raise ValueError(f"{key} has several values, and {operator} compares one")


def listed_values(value: str | Sequence[str]) -> list[str]:
    """Return what a request says under a key, as a list."""
    return [value] if isinstance(value, str) else list(value)


def _like(pattern: str, value: str) -> bool:
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), value, re.DOTALL) is not None


_OPERATORS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "StringEquals": str.__eq__,
    "StringLike": _like,
    "ArnEquals": _like,
    "ArnLike": _like,
}
