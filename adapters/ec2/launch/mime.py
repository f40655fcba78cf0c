"""User data of several parts, as cloud-init and nodeadm read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from email import message_from_string
from email.errors import CloseBoundaryNotFoundDefect
from email.message import Message
from itertools import chain, count
from typing import Final

SHELL_SCRIPT: Final = 'text/x-shellscript; charset="us-ascii"'
_BOUNDARY: Final = "//"
_BEGINNINGS: Final = ("mime-version:", "content-type:")


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its headers (without those of the whole) and its text."""

    headers: tuple[tuple[str, str], ...]
    text: str

    @classmethod
    def of(cls, content_type: str, text: str) -> Part:
        return cls((("Content-Type", content_type),), text)


def is_mime(user_data: str) -> bool:
    """Return whether user data is of MIME parts already."""
    return user_data.lstrip().lower().startswith(_BEGINNINGS)


def users_parts(user_data: str, *, otherwise: Callable[[str], str]) -> tuple[Part, ...]:
    """Return what a user wrote as parts: what is no MIME is one, of the content type `otherwise` tells.

    Raises:
        ValueError: it is MIME that cannot be taken apart.
    """
    if not user_data.strip():
        return ()
    return parts_of(user_data) if is_mime(user_data) else (Part.of(otherwise(user_data), user_data),)


def parts_of(user_data: str) -> tuple[Part, ...]:
    """Return the parts of user data that is MIME.

    Raises:
        ValueError: it cannot be taken apart.
    """
    message = message_from_string(user_data.lstrip().replace("\r", ""))
    # cloud-init reads on where the last boundary is not closed, as in examples of Karpenter's docs.
    broken = [one for one in message.defects if not isinstance(one, CloseBoundaryNotFoundDefect)]
    if broken:
        raise ValueError(f"its MIME is broken ({type(broken[0]).__name__})")
    return tuple(_leaves(message))


def _leaves(message: Message) -> Iterator[Part]:
    payload = message.get_payload()
    if isinstance(payload, list):
        for inner in payload:
            if isinstance(inner, Message):
                yield from _leaves(inner)
        return
    message.get_payload(decode=True)
    if message.defects:
        raise ValueError(f"a part of its MIME is broken ({type(message.defects[0]).__name__})")
    headers = tuple((key, value) for key, value in message.items() if key.lower() != "mime-version")
    yield Part(headers, str(payload))


def joined(parts: Iterable[Part]) -> str:
    """Write parts as one message, for equal parts always the same."""
    written = tuple(parts)
    boundary = _boundary(written)
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{boundary}"', ""]
    for part in written:
        lines.append(f"--{boundary}")
        lines.extend(f"{key}: {value}" for key, value in part.headers)
        lines.extend(("", part.text.replace("\r", "").rstrip("\n"), ""))
    lines.append(f"--{boundary}--")
    return "\n".join(lines) + "\n"


def _boundary(parts: Sequence[Part]) -> str:
    """Return a boundary that no line of the parts could be taken for."""
    lines = [line for part in parts for line in part.text.splitlines() if line.startswith(f"--{_BOUNDARY}")]
    candidates = chain((_BOUNDARY,), (f"{_BOUNDARY}{n}" for n in count()))
    return next(one for one in candidates if not any(line.startswith(f"--{one}") for line in lines))
