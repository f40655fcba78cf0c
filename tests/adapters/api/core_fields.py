"""Writes the field names of Kubernetes' own kinds that we read: `python -m tests.adapters.api.core_fields`.

They are those of the Kubernetes client, which is made from the API server's own description.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import kubernetes.client
import msgspec

from treenail.adapters.api.kinds import KINDS

FILE = Path(__file__).resolve().parents[3] / "adapters" / "api" / "core" / "data" / "fields.json"
CORE = ("v1", "apps/v1", "batch/v1", "policy/v1", "scheduling.k8s.io/v1", "storage.k8s.io/v1")


def fields() -> dict[str, dict[str, str]]:
    """Return by model what each of its fields holds: a model, or "" for what is not looked into."""
    found: dict[str, dict[str, str]] = {}
    for version, kind in sorted(KINDS):
        if version in CORE:
            _add(kind, f"V1{kind}", found)
    return dict(sorted(found.items()))


def _add(name: str, model: str, found: dict[str, dict[str, str]]) -> None:
    if name in found:
        return
    described: Any = getattr(kubernetes.client, model)
    known = found[name] = {}
    for attribute, written in sorted(described.attribute_map.items(), key=lambda pair: pair[1]):
        # A status is the server's to write. Of mappings the keys are anybody's.
        inner = re.fullmatch(r"(?:[Ll]ist\[)?V1(\w+)\]?", described.openapi_types[attribute])
        of = inner[1] if inner and written != "status" and hasattr(kubernetes.client, f"V1{inner[1]}") else ""
        known[written] = of
        if of:
            _add(of, f"V1{of}", found)


if __name__ == "__main__":
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(fields()), indent=1) + b"\n")
