"""The manifests that Karpenter's AWS provider shows as examples, and whether they are accepted there.

Whether they are was asked of a real API server with the definitions of each tag; what the webhook of v0.31
and v0.32 says of two of them beyond that is its documented rule.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NamedTuple


class Example(NamedTuple):
    """An object of an example's file, at which tags it reads so, and the field for which it is refused."""

    file: str
    at: tuple[str, ...]
    refused: str
    tree: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.file} {self.tree['kind']} {self.tree['metadata']['name']} of {self.at[0]}"


_FILE: Final = Path(__file__).with_name("karpenter-examples.json")
EXAMPLES: Final = tuple(
    Example(one["file"], tuple(one["at"]), one.get("refused", ""), one["object"])
    for one in json.loads(_FILE.read_text(encoding="utf-8"))["examples"]
)
