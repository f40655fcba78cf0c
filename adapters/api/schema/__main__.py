"""Writes the definitions into a folder: `python -m treenail.adapters.api.schema deploy/crds`."""

from __future__ import annotations

import sys
from pathlib import Path

from treenail.adapters.api.schema.catalogue import files


def main(folder: Path) -> None:
    """Write every definition into `folder`, and remove the files there that are of none."""
    folder.mkdir(parents=True, exist_ok=True)
    made = files()
    for old in sorted(folder.glob("*.yaml")):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
