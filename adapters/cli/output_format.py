"""Output formats of commands."""

from __future__ import annotations

from enum import StrEnum


class OutputFormat(StrEnum):
    """A table for people, JSON for scripts."""

    TABLE = "table"
    JSON = "json"
