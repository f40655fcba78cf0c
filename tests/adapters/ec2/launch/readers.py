"""User data read back as the images read it."""

from __future__ import annotations

import re
import shlex
import tomllib
from email import message_from_string
from typing import Any, Final

import yaml

_BLOCK: Final = re.compile(r"<powershell>\n(.*)\n</powershell>\n(.*)", re.DOTALL)
_CALL: Final = '& "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1" '
_WORD: Final = re.compile(r"\s*(?:-(\w+)|'((?:[^']|'')*)')")


def parts(text: str) -> list[tuple[str, str]]:
    """Return the parts of user data as cloud-init reads them: type and text."""
    message = message_from_string(text)
    assert not message.defects
    return [(part.get_content_type(), str(part.get_payload())) for part in message.walk()][1:]


def node_config(text: str) -> dict[str, Any]:
    """Return the last part, which is for nodeadm."""
    kind, written = parts(text)[-1]
    assert kind == "application/node.eks.aws"
    return dict(yaml.safe_load(written))


def bootstrap_call(text: str) -> tuple[str, dict[str, str]]:
    """Return the cluster bootstrap.sh is called for in the last part, and its options."""
    kind, written = parts(text)[-1]
    assert kind == "text/x-shellscript"
    (call,) = (shlex.split(line) for line in written.splitlines() if line.startswith("/etc/eks"))
    assert call[0] == "/etc/eks/bootstrap.sh"
    return call[1], dict(zip(call[2::2], call[3::2], strict=True))


def bottlerocket_settings(text: str) -> dict[str, Any]:
    """Return [settings]."""
    return dict(tomllib.loads(text)["settings"])


def powershell(text: str) -> tuple[list[str], dict[str, str], str]:
    """Return the commands before the call of the bootstrap, its arguments, and what follows the block."""
    block = _BLOCK.fullmatch(text)
    assert block is not None, text
    *commands, call = block[1].split("\n")
    assert call.startswith(_CALL), call
    return commands, _arguments(call.removeprefix(_CALL)), block[2]


def _arguments(call: str) -> dict[str, str]:
    """Read -Name 'value' pairs: in single quotes only the quote itself is special, and doubled."""
    words: list[str] = []
    at = 0
    while at < len(call):
        word = _WORD.match(call, at)
        assert word is not None, call[at:]
        words.append(word[1] if word[1] is not None else word[2].replace("''", "'"))
        at = word.end()
    return dict(zip(words[::2], words[1::2], strict=True))
