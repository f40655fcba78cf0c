"""User data of several parts, as cloud-init and nodeadm read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email import message_from_string
from email.message import Message
from typing import Final

NODE_CONFIG: Final = "application/node.eks.aws"
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
    """Tell whether user data is of MIME parts already."""
    return user_data.lstrip().lower().startswith(_BEGINNINGS)


def parts_of(user_data: str) -> tuple[Part, ...]:
    """Return the parts of user data that is MIME.

    Raises:
        ValueError: it cannot be taken apart.
    """
    message = message_from_string(user_data.lstrip().replace("\r", ""))
    if message.defects:
        raise ValueError(f"its MIME is broken ({type(message.defects[0]).__name__})")
    return tuple(_leaves(message))


def _leaves(message: Message) -> Iterator[Part]:
    payload = message.get_payload()
    if isinstance(payload, list):
        for inner in payload:
            if isinstance(inner, Message):
                yield from _leaves(inner)
        return
    headers = tuple((key, value) for key, value in message.items() if key.lower() != "mime-version")
    yield Part(headers, str(payload))


def joined(parts: Iterable[Part]) -> str:
    """Write parts as one message, for equal parts always the same."""
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', ""]
    for part in parts:
        lines.append(f"--{_BOUNDARY}")
        lines.extend(f"{key}: {value}" for key, value in part.headers)
        lines.extend(("", part.text.replace("\r", "").rstrip("\n"), ""))
    lines.append(f"--{_BOUNDARY}--")
    return "\n".join(lines) + "\n"
