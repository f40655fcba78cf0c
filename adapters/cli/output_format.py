"""The forms in which a command prints its result."""

from __future__ import annotations

from enum import StrEnum


class OutputFormat(StrEnum):
    """A table for people, JSON for scripts."""

    TABLE = "table"
    JSON = "json"
