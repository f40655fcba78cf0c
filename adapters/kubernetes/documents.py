"""Documents of lists and watches: pages, events, and the raw bytes of each object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from treenail.adapters.api import headers
from treenail.adapters.kubernetes.errors import ApiStatus, error_of, read_status
from treenail.domain.model.errors import PortError, UnavailableError

# Set on the bookmark with which a streamed list ends.
_LIST_ENDS: Final = "k8s.io/initial-events-end"


class _Annotations(msgspec.Struct):
    ends: str = msgspec.field(default="", name=_LIST_ENDS)


class WatchHeader(headers.Header, rename="camel"):
    """The metadata that identifies an object and its version, or a bookmark."""

    annotations: _Annotations | None = None

    @property
    def ends_list(self) -> bool:
        """True if this is the bookmark with which a streamed list ends."""
        return self.annotations is not None and self.annotations.ends == "true"


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    rest: str = msgspec.field(default="", name="continue")


class ListPage(msgspec.Struct):
    """Some of the objects of a list, each as it is written."""

    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class Event(msgspec.Struct):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


_PAGE: Final = msgspec.json.Decoder(ListPage)
_EVENT: Final = msgspec.json.Decoder(Event)
_HEADED: Final = msgspec.json.Decoder(headers.Headed[WatchHeader])


def read_page(body: bytes, asked: str) -> ListPage:
    """Return the page that `body` holds; UnavailableError where it is none."""
    try:
        return _PAGE.decode(body)
    except msgspec.DecodeError as error:
        raise UnavailableError(f"{asked}: the answer is no list: {error}") from None


def pages(
    ask: Callable[[Mapping[str, str]], bytes], query: Mapping[str, str], asked: str
) -> Iterator[ListPage]:
    """Yield a list page by page: `ask` gives the answer to a query, of which `query` is the first.

    Raises:
        UnavailableError: an answer is no list.
    """
    while True:
        page = read_page(ask(query), asked)
        yield page
        if not page.metadata.rest:
            return
        query = {**query, "continue": page.metadata.rest}


def read_event(line: bytes, asked: str) -> Event:
    """Return the event that `line` holds; UnavailableError where it is none."""
    try:
        return _EVENT.decode(line)
    except msgspec.DecodeError as error:
        raise UnavailableError(f"{asked}: a line of the watch is no event: {error}") from None


def read_header(content: bytes | msgspec.Raw, asked: str) -> WatchHeader:
    """Return what an object is called; UnavailableError where it does not say."""
    return headers.of(_HEADED, content, asked)


def error_in(event: Event, asked: str) -> PortError:
    """Return the error that an event of type ERROR tells."""
    status: ApiStatus = read_status(bytes(event.object))
    return error_of(status, asked)
