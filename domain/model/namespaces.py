"""Namespaces, as selectors of namespaces see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

# The API server gives every namespace this label.
NAME_LABEL: Final = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace."""

    name: str
    uid: str = ""
    resource_version: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    deleting_since: datetime | None = None
