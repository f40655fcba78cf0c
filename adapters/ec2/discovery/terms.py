"""Selector terms as queries to EC2, merged into as few as possible."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from treenail.adapters.ec2.discovery.asking import bearing, matching
from treenail.domain.model.node_classes import SelectorTerm

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.type_defs import FilterTypeDef

# How many values EC2 takes in one filter.
_MOST_VALUES: Final = 200


def questions(
    terms: Iterable[SelectorTerm], *, by_id: str, by_name: str = ""
) -> tuple[list[FilterTypeDef], ...]:
    """Return lists of filters that together find what any of `terms` means.

    `by_id` and `by_name` are the filters' names. Ids that stand alone are asked for together.
    """
    asked: list[list[FilterTypeDef]] = []
    ids: dict[str, None] = {}
    for term in terms:
        filters = bearing(term.tags)
        if by_name and term.name:
            filters.append(matching(by_name, (term.name,)))
        if term.id and not filters:
            ids[term.id] = None
        elif term.id:
            asked.append([matching(by_id, (term.id,)), *filters])
        elif filters:
            asked.append(filters)
    together = sorted(ids)
    chunks = (together[n : n + _MOST_VALUES] for n in range(0, len(together), _MOST_VALUES))
    return (*([matching(by_id, chunk)] for chunk in chunks), *asked)
