"""Random scenarios by seed, as manifests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tests.fuzz.extended.scenario import extended
from tests.fuzz.manifests import Manifest
from tests.fuzz.plain import plain

GENERATORS: Final[Mapping[str, Callable[[int], list[Manifest]]]] = {
    "plain": plain,
    "extended": extended,
}


def text(items: Sequence[Manifest]) -> str:
    """Return manifests as one list in JSON."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})


def pending(one: Manifest) -> bool:
    return one["kind"] == "Pod" and not one["spec"].get("nodeName")


def pod_name(one: Manifest) -> str:
    return f"{one['metadata']['namespace']}/{one['metadata']['name']}"
