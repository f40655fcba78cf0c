"""Storage migration: objects stored in an older version are written anew in the current one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.definitions import Definition, Definitions
from treenail.adapters.kubernetes.documents import pages, read_header
from treenail.adapters.kubernetes.resources import Resource
from treenail.domain.model.errors import NotFoundError, PortError, UnavailableError
from treenail.domain.model.runtime import Log

# So many objects a page, and a second: what the controller decides comes first.
_PAGE: Final = 100
PAUSE: Final = 0.02
# Where so many objects are refused, the rest would hardly fare better: it is tried again later.
_MOST_REFUSED: Final = 10


@dataclass(frozen=True, slots=True)
class Migration:
    """The result of a migration: objects written anew, and objects that could not be."""

    written: int
    refused: int


class StorageMigration:
    """Writes all objects of a kind anew, and then notes in its definition that none is of before.

    `wait` waits so many seconds and tells whether the end has come, which breaks a migration off.
    """

    def __init__(self, calls: ApiCalls, *, log: Log, wait: Callable[[float], bool]) -> None:
        self._calls = calls
        self._definitions = Definitions(calls)
        self._log = log
        self._wait = wait

    def run(self, definition: Definition) -> Migration | None:
        """Migrate the objects of a kind; None where the end came before. Doing it again does no harm.

        Raises:
            PortError: the API server does not list them, or takes no writes. All is as good as before.
        """
        written = refused = 0
        # Listed first: a list that takes long cannot be gone on with.
        for name in tuple(names_of(self._calls, definition.resource)):
            if self._wait(PAUSE):
                return None
            try:
                written += self._rewrite(definition.resource, name)
            except UnavailableError:
                raise
            except PortError as error:
                refused += 1
                self._log("object not migrated", about=f"{definition.resource.kind}/{name}", error=str(error))
                if refused >= _MOST_REFUSED:
                    break
        if not refused:
            self._note(definition)
        return Migration(written, refused)

    def _rewrite(self, resource: Resource, name: str) -> bool:
        """Have an object encoded anew: that its status stays as it is needs no other permission."""
        nothing: Tree = {}
        try:
            self._calls.merge(resource.path(name, subresource="status"), nothing)
        except NotFoundError:
            return False
        return True

    def _note(self, definition: Definition) -> None:
        # The definition is written to by others too, and only its storage matters here.
        now = self._definitions.read(definition.resource)
        if now is not None and now.storage == definition.storage:
            self._definitions.stores_only(now, now.storage)


def names_of(calls: ApiCalls, resource: Resource) -> Iterator[str]:
    """Yield the names of all objects of a kind; PortError where they are not listed."""
    path = resource.path()
    asked = f"GET {path}"
    for page in pages(lambda query: calls.read(f"{path}?{urlencode(query)}"), {"limit": str(_PAGE)}, asked):
        yield from (read_header(raw, asked).name for raw in page.items or ())
