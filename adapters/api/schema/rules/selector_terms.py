"""Selectors of EC2NodeClass: alternatives, each a conjunction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from treenail.adapters.api.aws.v1_selectors import FAMILIES
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule

_TAGS: Final = Constraint(
    [Rule("self.all(k, k != '' && self[k] != '')", "neither a tag's key nor its value may be empty")]
)
_IMAGE_FIELDS: Final = ("tags", "id", "name", "alias", "ssmParameter")
_IMAGES_ALONE: Final = {
    "id": ("tags", "name", "owner", "alias"),
    "alias": ("tags", "name", "owner", "ssmParameter", "id"),
}
_WINDOWS: Final = sorted(name for name, family in FAMILIES.items() if family.windows)


def subnets(path: str) -> Constraints:
    """Return the rules for the terms at `path`.

    As for the reader, what cannot stand beside other fields is only wrong where it does in every term.
    """
    return _terms(path, ("tags", "id"), {"id": ("tags",)})


def security_groups(path: str) -> Constraints:
    """Return the rules for the terms at `path`; see `subnets`."""
    return _terms(path, ("tags", "id", "name"), {"id": ("tags", "name"), "name": ("tags", "id")})


def reservations(path: str) -> Constraints:
    """Return the rules for the terms at `path`, of which there may be none; see `subnets`."""
    fields = ("tags", "id", "instanceMatchCriteria")
    alone = {"id": ("tags", "ownerID", "instanceMatchCriteria")}
    return _terms(path, fields, alone, unless="self.size() == 0 || ")


def _terms(
    path: str, fields: tuple[str, ...], alone: Mapping[str, tuple[str, ...]], *, unless: str = ""
) -> Constraints:
    rules = [
        Rule(
            f"{unless}!self.all(t, {cel.given(one, of='t')} && {cel.given(*others, of='t')})",
            f"{one} cannot stand beside other fields",
        )
        for one, others in alone.items()
    ]
    some = Rule(cel.given(*fields), f"needs {_either(fields)}")
    return {path: Constraint(rules), f"{path}[]": Constraint([some]), f"{path}[].tags": _TAGS}


def images(path: str) -> Constraints:
    """Return the rules for the terms at `path`."""
    only = Rule("self.size() == 1 || !self.exists(t, has(t.alias))", "an alias must be the only term")
    return {
        path: Constraint([only]),
        f"{path}[]": Constraint(tuple(_image(_IMAGE_FIELDS, _IMAGES_ALONE))),
        f"{path}[].tags": _TAGS,
        f"{path}[].alias": Constraint(tuple(_alias())),
    }


def images_of_v1beta1(path: str) -> Constraints:
    """Return the rules for the terms at `path`, which know no alias."""
    rules = tuple(_image(("tags", "id", "name"), {"id": ("tags", "name", "owner")}))
    return {f"{path}[]": Constraint(rules), f"{path}[].tags": _TAGS}


def _image(fields: tuple[str, ...], alone: Mapping[str, tuple[str, ...]]) -> Iterator[Rule]:
    yield Rule(cel.given(*fields), f"needs {_either(fields)}")
    for one, others in alone.items():
        beside = f"has(self.{one}) && {cel.given(*others)}"
        yield Rule(f"!({beside})", "cannot stand beside other fields", one)


def _alias() -> Iterator[Rule]:
    name = "self.lowerAscii().split('@')[0]"
    known = sorted(FAMILIES)
    yield Rule(f"{name} in {cel.texts(known)}", f"is of none of {', '.join(known)}")
    latest = "self.substring(self.indexOf('@')) == '@latest'"
    yield Rule(f"!({name} in {cel.texts(_WINDOWS)}) || {latest}", "Windows has no other version than latest")


def image_family() -> Iterator[Rule]:
    """Yield the rules of the parent of `amiFamily` and `amiSelectorTerms`."""
    yield Rule(
        "has(self.amiFamily) || self.amiSelectorTerms.exists(t, has(t.alias))",
        "is missing: it is needed where no alias is given",
        "amiFamily",
    )
    own = "t.alias.lowerAscii().split('@')[0] == self.amiFamily.lowerAscii()"
    yield Rule(
        "!has(self.amiFamily) || self.amiFamily == 'Custom'"
        f" || self.amiSelectorTerms.all(t, !has(t.alias) || {own})",
        "is not the family of the alias",
        "amiFamily",
    )


def _either(fields: tuple[str, ...]) -> str:
    return f"{', '.join(fields[:-1])} or {fields[-1]}"
