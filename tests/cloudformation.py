"""The CloudFormation template in deploy, as its short forms stand for: {"Ref": "ClusterName"}."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

TEMPLATE: Final = Path(__file__).resolve().parent.parent / "deploy" / "cloudformation" / "treenail.yaml"


class _Loader(yaml.SafeLoader):
    """Reads YAML with CloudFormation's tags."""


def _long_form(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    match node:
        case yaml.ScalarNode():
            text = loader.construct_scalar(node)
            return {name: text.split(".", 1) if suffix == "GetAtt" else text}
        case yaml.SequenceNode():
            return {name: loader.construct_sequence(node, deep=True)}
        case _:
            raise ValueError(f"!{suffix} stands before neither text nor a list")


_Loader.add_multi_constructor("!", _long_form)


@cache
def template() -> dict[str, Any]:
    """Return the template."""
    return dict(yaml.load(TEMPLATE.read_text(), _Loader))  # noqa: S506 (a safe loader)


def controller_statements() -> list[dict[str, Any]]:
    """Return what the controller is allowed, statement by statement."""
    document = template()["Resources"]["ControllerPolicy"]["Properties"]["PolicyDocument"]
    return list(document["Statement"])


def listed(value: str | list[str]) -> list[str]:
    """Return what IAM takes as one or as a list."""
    return [value] if isinstance(value, str) else value


@cache
def allowed_actions() -> frozenset[str]:
    """Return every action that the controller is allowed, such as "ec2:CreateFleet"."""
    return frozenset(action for one in controller_statements() for action in listed(one["Action"]))


def parts(value: object) -> Iterator[tuple[str, object]]:
    """Yield every key of every object within `value`, with what it holds."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from parts(inner)
