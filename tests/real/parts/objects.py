"""Objects as an API server gives and takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# The content types of patches.
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"


def says(thing: Mapping[str, Any], *conditions: str) -> bool:
    """Return whether one of these conditions of an object is True."""
    there = thing.get("status", {}).get("conditions", ())
    return any(c["type"] in conditions and c["status"] == "True" for c in there)
