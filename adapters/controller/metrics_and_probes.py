"""Pages for those who look after the process: probes and metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeAlias

from treenail.adapters.controller.serving.channel import Plain
from treenail.adapters.controller.serving.exchange import Answer, Request
from treenail.adapters.controller.serving.limits import Limits
from treenail.adapters.controller.serving.losses import Lost
from treenail.adapters.controller.serving.served_port import ServedPort

# A connection is closed after each page: so what one client can ask for is bounded as connections are.
PAGE_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Page(Answer):
    """The answer for a path."""

    @classmethod
    def check(cls, troubles: list[str]) -> Page:
        """Return the answer of a probe: "ok", or what is wrong."""
        if not troubles:
            return cls(b"ok\n")
        return cls(("\n".join(troubles) + "\n").encode(), HTTPStatus.SERVICE_UNAVAILABLE)


Pages: TypeAlias = Mapping[str, Callable[[], Page]]


def serve_pages(
    port: int,
    pages: Pages,
    *,
    failed: Callable[[BaseException], None],
    lost: Lost,
    limits: Limits = PAGE_LIMITS,
    host: str = "",
) -> ServedPort:
    """Serve `pages`, by path, on all addresses or on one `host`.

    Raises:
        OSError: the port is taken.
    """
    return ServedPort(port, _Pages(pages), Plain, limits, failed=failed, lost=lost, host=host)


class _Pages:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def answer(self, request: Request, /) -> Answer:
        """Answer GET with the page of the path."""
        if request.method != "GET":
            return self.refuse(HTTPStatus.NOT_IMPLEMENTED, "pages are read by GET")
        page = self._pages.get(request.path)
        return page() if page is not None else self.refuse(HTTPStatus.NOT_FOUND, "not found")

    def refuse(self, status: HTTPStatus, message: str, /) -> Answer:
        """Return a refusal with the reason as one line of text."""
        return Answer(f"{message}\n".encode(), status)
