"""Paged and retried queries to AWS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from treenail.adapters.ec2.call_retries import CallRetries
from treenail.adapters.ec2.clients import Clients
from treenail.domain.model.errors import UnavailableError

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.type_defs import FilterTypeDef

P = TypeVar("P", bound=Mapping[str, object])


@dataclass(frozen=True, slots=True)
class Aws:
    """AWS in one region."""

    clients: Clients
    retries: CallRetries

    def pages(self, service: str, action: str, ask: Callable[..., P]) -> Iterator[P]:
        """Ask for one page after the other; `ask` takes the token of the page, but for the first one.

        Raises:
            PortError: as `CallRetries` says; UnavailableError also where pages would never end.
        """
        more: dict[str, str] = {}
        while True:
            asked = more
            page = self.retries.call(service, action, partial(ask, **asked))
            yield page
            token = page.get("NextToken")
            if not isinstance(token, str) or not token:
                return
            more = {"NextToken": token}
            if more == asked:
                raise UnavailableError(f"{service}:{action} gives the same page again and again")


def matching(name: str, values: Iterable[str]) -> FilterTypeDef:
    """Return a filter of EC2: what has any of `values`."""
    return {"Name": name, "Values": list(values)}


def bearing(tags: Iterable[tuple[str, str]]) -> list[FilterTypeDef]:
    """Return the filters for resources with all of `tags`, where "*" is any value."""
    return [
        matching("tag-key", (key,)) if value == "*" else matching(f"tag:{key}", (value,))
        for key, value in tags
    ]
