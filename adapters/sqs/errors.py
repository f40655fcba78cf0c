"""Errors of SQS calls, in words for people."""

from __future__ import annotations

from typing import Final

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

# All that botocore raises for what happens outside of us.
CALL_ERRORS: Final = (ClientError, BotoCoreError, ResponseParserError)

_MISSING: Final = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})
# These errors repeat what was signed, which may hold a session's token.
_REPEAT_SECRETS: Final = ("signature", "token", "credential")


def is_missing(error: Exception) -> bool:
    """Return whether there is no queue of this name."""
    return isinstance(error, ClientError) and _code(error) in _MISSING


def in_words(error: Exception) -> str:
    """Return what an error says, without anything secret."""
    if isinstance(error, ClientError):
        code = _code(error)
        if any(word in code.lower() for word in _REPEAT_SECRETS):
            return code
        return f"{code}: {error.response.get('Error', {}).get('Message', '')}"
    if isinstance(error, ResponseParserError):
        return "the answer is not SQS's"
    return f"{type(error).__name__}: {error}"


def _code(error: ClientError) -> str:
    return error.response.get("Error", {}).get("Code", "unknown")
