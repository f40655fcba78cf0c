"""Selectors of v1alpha1: tags with one or more values each, and keys such as `aws-ids` that are no tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import product
from math import prod
from typing import Final

from treenail.adapters.api.diagnosis import quoted, under
from treenail.adapters.api.errors import FieldError
from treenail.domain.model.node_classes import SelectorTerm

_IDS: Final = ("aws-ids", "aws::ids")
_NAME: Final = "aws::name"
_OWNERS: Final = "aws::owners"
_MOST_TERMS: Final = 1000


def resource_terms(selector: Mapping[str, str], at: str, *, prefix: str) -> tuple[SelectorTerm, ...]:
    """Return the selector of subnets or security groups as alternatives; ids begin with `prefix`.

    Raises:
        FieldError: a key or value is empty, an id is none, or ids stand beside tags.
    """
    listed = _listed(selector, at)
    ids = [one for key in _IDS for one in listed.get(key, ())]
    if not ids:
        return _terms(listed, at)
    if len(listed) > 1:
        raise FieldError(at, f"{_IDS[0]} cannot stand beside other keys")
    _check_ids(ids, at, prefix)
    return tuple(SelectorTerm(id=one) for one in ids)


def image_terms(selector: Mapping[str, str], at: str) -> tuple[SelectorTerm, ...]:
    """Return the selector of images as alternatives: of owner, id, name and tags; see `resource_terms`."""
    listed = _listed(selector, at)
    ids = [one for key in _IDS for one in listed.pop(key, ())]
    _check_ids(ids, at, "ami-")
    names = listed.pop(_NAME, [])
    owners = listed.pop(_OWNERS, [])
    return _terms(listed, at, ids=ids, names=names, owners=owners)


def _listed(selector: Mapping[str, str], at: str) -> dict[str, list[str]]:
    listed: dict[str, list[str]] = {}
    for key, value in sorted(selector.items()):
        several = [one.strip() for one in value.split(",")]
        if not key or not all(several):
            raise FieldError(under(at, key) if key else at, "neither a key nor a value may be empty")
        listed[key] = list(dict.fromkeys(several))
    return listed


def _check_ids(ids: Iterable[str], at: str, prefix: str) -> None:
    for one in ids:
        if re.match(f"{prefix}[0-9a-z]", one) is None:
            raise FieldError(at, f"{quoted(one)} is not an id ({prefix}...)")


def _terms(
    tags: Mapping[str, list[str]],
    at: str,
    *,
    ids: Iterable[str] = (),
    names: Iterable[str] = (),
    owners: Iterable[str] = (),
) -> tuple[SelectorTerm, ...]:
    """Return every combination of one value each: what is listed together is alternatives."""
    choices = [tuple(several) or ("",) for several in (owners, ids, names)]
    if prod(len(several) for several in (*choices, *tags.values())) > _MOST_TERMS:
        raise FieldError(at, f"lists more than {_MOST_TERMS} combinations of values")
    return tuple(
        SelectorTerm(tags=tuple(zip(tags, values, strict=True)), id=one_id, name=name, owner=owner)
        for owner, one_id, name in product(*choices)
        for values in product(*tags.values())
    )
