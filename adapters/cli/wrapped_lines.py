"""Lines as text: on a terminal they are wrapped at its width, elsewhere they are left as they are."""

from __future__ import annotations

import textwrap
from typing import Final

from rich.console import Console

_NARROWEST: Final = 30


def write_hanging(console: Console, head: str, text: str) -> None:
    """Write `text` behind `head`; on a terminal it is wrapped, and stays to the right of `head`."""
    width = max(console.width - len(head), _NARROWEST) if console.is_terminal else None
    # Names are not broken at their hyphens.
    lines = textwrap.wrap(text, width, break_on_hyphens=False) if width else [text]
    below = [f"{'':{len(head)}}{line}" for line in lines[1:]]
    whole = "\n".join((f"{head}{lines[0] if lines else ''}".rstrip(), *below))
    console.print(whole, highlight=False, markup=False, soft_wrap=True)
