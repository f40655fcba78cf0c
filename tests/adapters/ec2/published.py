"""Instance types as Karpenter's reference lists them: AL2023, no block devices, default kubelet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from treenail.domain.model import labels

_TABLE: Final = Path(__file__).with_name("karpenter-1.14.0.tsv")
_COMMENT: Final = "#"
_NONE, _EMPTY = "-", "''"
_CHIPS: Final = ("gpu-", "accelerator-")


@dataclass(frozen=True, slots=True)
class Published:
    """An instance type of the reference: quantities and labels as it writes them."""

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, str]


def published_types() -> dict[str, Published]:
    """Return all types of the reference by name."""
    lines = [line for line in _TABLE.read_text().splitlines() if not line.startswith(_COMMENT)]
    columns = lines[0].split("\t")
    rows = (dict(zip(columns, line.split("\t"), strict=True)) for line in lines[1:])
    return {one.name: one for one in map(_published, rows)}


def _published(row: dict[str, str]) -> Published:
    name, others = row.pop("name"), _pairs(row.pop("others"))
    family, _, size = name.partition(".")
    allocatable = {
        "cpu": row.pop("allocatable-cpu"),
        "memory": row.pop("allocatable-memory"),
        "pods": row.pop("pods"),
        "ephemeral-storage": "17Gi",
    }
    common = {labels.INSTANCE_TYPE: name, labels.OS: "linux", labels.ARCH: row.pop("arch")}
    shown = {key: "" if value == _EMPTY else value for key, value in row.items() if value != _NONE}
    shown |= {"family": family, "size": size}
    for key, value in others.items():
        (shown if key.startswith(_CHIPS) else allocatable)[key] = value
    return Published(
        name, common | {f"{labels.AWS}instance-{key}": value for key, value in shown.items()}, allocatable
    )


def _pairs(text: str) -> dict[str, str]:
    return {} if text == _NONE else dict(pair.split("=") for pair in text.split())
