"""The command, on text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.adapters.cli.command import EXAMPLES, Ran, treenail

BETA = str(EXAMPLES / "004-beta.yaml")


def convert(file: Path, text: str, *options: str) -> Ran:
    file.write_text(text)
    return treenail("convert", "-f", str(file), *options)


def made(file: Path, text: str, to: str = "v1") -> list[Any]:
    """The objects that `text` becomes."""
    ran = convert(file, text, "--to", to)
    assert ran.code == 0, ran.err
    return list(yaml.safe_load_all(ran.out))
