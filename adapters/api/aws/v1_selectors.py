"""Selectors of subnets, security groups and images in v1: alternatives, each a conjunction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.model import WANTED, StrictModel
from treenail.domain.model.node_classes import AmiFamily, SelectorTerm

Tags: TypeAlias = Annotated[dict[str, str], Meta(max_length=20)]
SubnetId: TypeAlias = Annotated[
    str, Meta(pattern="^subnet-[0-9a-z]+$", extra={WANTED: "a subnet's id (subnet-...)"})
]
GroupId: TypeAlias = Annotated[
    str, Meta(pattern="^sg-[0-9a-z]+$", extra={WANTED: "a security group's id (sg-...)"})
]
ImageId: TypeAlias = Annotated[
    str, Meta(pattern="^ami-[0-9a-z]+$", extra={WANTED: "an image's id (ami-...)"})
]
Alias: TypeAlias = Annotated[
    str,
    Meta(max_length=30, pattern="^[a-zA-Z0-9]+@.+$", extra={WANTED: "an alias (such as al2023@latest)"}),
]

FAMILIES: Final = {
    family.value.lower(): family for family in AmiFamily if family not in (AmiFamily.CUSTOM, AmiFamily.UBUNTU)
}


class SubnetTermModel(StrictModel):
    """Subnets by tags or by id."""

    tags: Tags | None = None
    id: SubnetId | None = None


class SecurityGroupTermModel(StrictModel):
    """Security groups by tags, by id or by name."""

    tags: Tags | None = None
    id: GroupId | None = None
    name: str | None = None


class AmiTermModel(StrictModel):
    """Images by id, name, owner or tags, by an alias or by an SSM parameter."""

    tags: Tags | None = None
    id: ImageId | None = None
    name: str | None = None
    owner: str | None = None
    alias: Alias | None = None
    ssm_parameter: str | None = None


class CapacityReservationTermModel(StrictModel):
    """Capacity reservations by tags, by id, or by whom they take; of one owner, where that is named."""

    tags: Tags | None = None
    id: Annotated[str, Meta(pattern="^cr-[0-9a-z]+$")] | None = None
    owner_id: Annotated[str, Meta(pattern="^[0-9]{12}$")] | None = field(default=None, name="ownerID")
    instance_match_criteria: Literal["open", "targeted"] | None = None


def subnet_terms(models: Sequence[SubnetTermModel], at: str) -> tuple[SelectorTerm, ...]:
    """Return the alternatives at the path `at`; FieldError says what is wrong with them.

    As Karpenter's rule has it, an id beside tags is only wrong where every term has that.
    """
    for n, model in enumerate(models):
        _check_tags(model.tags, f"{at}[{n}].tags")
        if not model.tags and not model.id:
            raise FieldError(f"{at}[{n}]", "needs tags or id")
    if all(m.id and m.tags for m in models):
        raise FieldError(f"{at}[0].id", "cannot stand beside other fields")
    return tuple(SelectorTerm(tags=_pairs(m.tags), id=m.id or "") for m in models)


def security_group_terms(models: Sequence[SecurityGroupTermModel], at: str) -> tuple[SelectorTerm, ...]:
    """Return the alternatives at the path `at`; see `subnet_terms`."""
    for n, model in enumerate(models):
        _check_tags(model.tags, f"{at}[{n}].tags")
        if not model.tags and not model.id and not model.name:
            raise FieldError(f"{at}[{n}]", "needs tags, id or name")
    if all(m.id and (m.tags or m.name) for m in models):
        raise FieldError(f"{at}[0].id", "cannot stand beside other fields")
    if all(m.name and (m.tags or m.id) for m in models):
        raise FieldError(f"{at}[0].name", "cannot stand beside other fields")
    return tuple(SelectorTerm(tags=_pairs(m.tags), id=m.id or "", name=m.name or "") for m in models)


def reservation_terms(models: Sequence[CapacityReservationTermModel], at: str) -> tuple[SelectorTerm, ...]:
    """Return the alternatives at the path `at`; see `subnet_terms`."""
    for n, model in enumerate(models):
        _check_tags(model.tags, f"{at}[{n}].tags")
        if not model.tags and not model.id and not model.instance_match_criteria:
            raise FieldError(f"{at}[{n}]", "needs tags, id or instanceMatchCriteria")
    if models and all(m.id and (m.tags or m.owner_id or m.instance_match_criteria) for m in models):
        raise FieldError(f"{at}[0].id", "cannot stand beside other fields")
    return tuple(
        SelectorTerm(
            tags=_pairs(m.tags),
            id=m.id or "",
            owner=m.owner_id or "",
            match_criteria=m.instance_match_criteria or "",
        )
        for m in models
    )


def ami_terms(models: Sequence[AmiTermModel], at: str) -> tuple[SelectorTerm, ...]:
    """Return the alternatives at the path `at`; FieldError says what is wrong with one."""
    for n, model in enumerate(models):
        _check_ami_term(model, f"{at}[{n}]")
    if len(models) > 1 and any(m.alias for m in models):
        raise FieldError(at, "an alias must be the only term")
    return tuple(
        SelectorTerm(
            tags=_pairs(m.tags),
            id=m.id or "",
            name=m.name or "",
            owner=m.owner or "",
            alias=m.alias or "",
            ssm_parameter=m.ssm_parameter or "",
        )
        for m in models
    )


def ami_family(written: AmiFamily | None, terms: Sequence[SelectorTerm], at: str) -> AmiFamily:
    """Return the family of images, which an alias tells too; FieldError if they differ or none is there."""
    alias = next((t.alias for t in terms if t.alias), "")
    if not alias:
        if written is None:
            raise FieldError(f"{at}.amiFamily", "is missing: it is needed where no alias is given")
        return written
    name, _, version = alias.partition("@")
    family = FAMILIES.get(name.lower())
    path = f"{at}.amiSelectorTerms[0].alias"
    if family is None:
        raise FieldError(path, f"{quoted(name)} is not one of {', '.join(sorted(FAMILIES))}")
    if family.windows and version != "latest":
        raise FieldError(path, f"{quoted(alias)} must be {name}@latest: Windows has no other version")
    if written not in (None, family, AmiFamily.CUSTOM):
        raise FieldError(f"{at}.amiFamily", f"{written} is not the family of the alias, {family}")
    return written or family


def _check_ami_term(model: AmiTermModel, at: str) -> None:
    _check_tags(model.tags, f"{at}.tags")
    others = (model.tags, model.name, model.owner, model.ssm_parameter)
    if not any((model.tags, model.id, model.name, model.alias, model.ssm_parameter)):
        raise FieldError(at, "needs tags, id, name, alias or ssmParameter")
    if model.id and any((*others[:3], model.alias)):
        raise FieldError(f"{at}.id", "cannot stand beside other fields")
    if model.alias and any((*others, model.id)):
        raise FieldError(f"{at}.alias", "cannot stand beside other fields")


def _check_tags(tags: dict[str, str] | None, at: str) -> None:
    for key, value in (tags or {}).items():
        if not key or not value:
            raise FieldError(at, "neither a tag's key nor its value may be empty")


def _pairs(tags: dict[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((tags or {}).items()))
