"""Conversion trial: whether each object of a kind could be stored in another version, without writing any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import msgspec

from treenail.adapters.api.conversion import ConversionError, converted, kept_fields
from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.resources import Resource
from treenail.adapters.kubernetes.storage_migration import PAUSE, Migration, names_of
from treenail.domain.model.errors import NotFoundError, PortError, UnavailableError

_NOTHING: Final[Tree] = {}


class ConversionTrial:
    """Converts every object of a kind to the version `to`, and has the API server check the outcome.

    `say` is told of each object, on one line. `wait` waits so many seconds, and tells whether the end has
    come.
    """

    def __init__(
        self, calls: ApiCalls, to: str, *, say: Callable[[str], None], wait: Callable[[float], bool]
    ) -> None:
        self._calls = calls
        self._to = to
        self._say = say
        self._wait = wait

    def run(self, resource: Resource) -> Migration | None:
        """Try all objects of a kind, and count them; None where the end came before.

        Raises:
            PortError: the API server does not list them, or takes no writes now.
        """
        fine = refused = 0
        for name in tuple(names_of(self._calls, resource)):
            if self._wait(PAUSE):
                return None
            try:
                found = self._try(resource, name)
            except NotFoundError:
                continue
            except UnavailableError:
                raise
            except (ConversionError, PortError) as error:
                refused += 1
                found = f"cannot be stored in {self._to}: {error}"
            else:
                fine += 1
            self._say(f"{resource.kind}/{name}: {found}")
        return Migration(fine, refused)

    def _try(self, resource: Resource, name: str) -> str:
        """Return what becomes of an object; ConversionError or PortError where it cannot be stored."""
        path = resource.path(name)
        try:
            document = msgspec.json.decode(self._calls.read(path), type=dict)
        except msgspec.DecodeError:
            raise UnavailableError(f"GET {path}: the answer is no object") from None
        made = converted(document, self._to)
        group = resource.api_version.partition("/")[0]
        there = replace(resource, api_version=f"{group}/{self._to}")
        # The API server converts what is stored by itself, and holds it against the schema of that version.
        self._calls.merge(f"{there.path(name, subresource='status')}?dryRun=All", _NOTHING)
        kept = ", ".join(kept_fields(made))
        note = f"; an annotation that only Treenail reads keeps {kept}" if kept else ""
        return f"can be stored in {self._to}{note}"
