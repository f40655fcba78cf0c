"""Client tokens: a request sent again is answered as it was, and done once."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from typing import Any, Final

from moto.ec2.exceptions import EC2ClientError

# What differs between a request and the same one sent again.
_NOT_COMPARED: Final = frozenset({"ClientToken", "DryRun"})


class Tokens:
    """The tokens seen, with the requests and the answers they stand for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, str, str], tuple[str, Any]] = {}

    def reset(self) -> None:
        """Forget all."""
        with self._lock:
            self._seen.clear()

    def once(self, request: Any, do: Callable[[], Any]) -> Any:
        """Return what `do` does, or what it did for the same request before.

        The caller sees to it that two requests of an action do not run at once.

        Raises:
            EC2ClientError: the token was used for a request with other parameters.
        """
        token = request._get_param("ClientToken")
        if not token:
            return do()
        key, digest = (request.region, request._get_action(), token), _digest(request)
        with self._lock:
            known = self._seen.get(key)
        if known is None:
            answer = do()
            with self._lock:
                self._seen[key] = (digest, answer)
            return answer
        if known[0] != digest:
            message = "The client token was used before in a request with other parameters."
            raise EC2ClientError("IdempotentParameterMismatch", message)
        return known[1]


def _digest(request: Any) -> str:
    asked = {k: v for k, v in request.data.items() if k not in _NOT_COMPARED}
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
