"""SSM parameters that hold the ids of images."""

from __future__ import annotations

from functools import partial
from typing import Final

from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.domain.model.errors import NotFoundError

_PUBLISHED_SECONDS: Final = 24 * 3600.0
_OWN_SECONDS: Final = 300.0


class Parameters:
    """Reads parameters: AWS's, remembered for a day, and users', for five minutes."""

    def __init__(self, aws: Aws, caches: AnswerCaches) -> None:
        self._aws = aws
        self._published = caches.of("published images", self._read, seconds=_PUBLISHED_SECONDS)
        self._own = caches.of("SSM parameters", self._read, seconds=_OWN_SECONDS)

    def published(self, name: str) -> str:
        """Return what AWS published under a name, "" where that is nothing.

        Raises:
            PortError: it could not be looked up.
        """
        return self._published.get(name)

    def forget(self, name: str) -> None:
        """Look anew next time: what was published under the name is out of date."""
        self._published.forget(name)

    def value(self, name: str) -> str:
        """Return the value of a parameter of the user's, "" where there is none of the name.

        Raises:
            PortError: it could not be looked up.
        """
        return self._own.get(name)

    def _read(self, name: str) -> str:
        get = partial(self._aws.clients.ssm.get_parameter, Name=name)
        try:
            return self._aws.retries.call("ssm", "GetParameter", get)["Parameter"].get("Value", "")
        except NotFoundError:
            return ""
