"""Machine images: those EKS publishes for each family, and those of users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from treenail.adapters.api.account import Image
from treenail.adapters.api.diagnosis import meant
from treenail.adapters.fake.ec2.network import digits
from treenail.adapters.fake.ec2.selectors import means
from treenail.domain.model.node_classes import AmiFamily, NodeClass, SelectorTerm
from treenail.domain.status.node_class_parts import nothing_found

_ARCHITECTURES: Final = ("amd64", "arm64")
_LATEST: Final = "latest"
_FAMILIES: Final = {family.value.lower(): family for family in AmiFamily if family is not AmiFamily.CUSTOM}


class Images:
    """The images there are. Published ones are made up as they are asked for, with ids that stay.

    Names and tags that no added image has are assumed to belong to other images, one per
    architecture, unless it is known which there are; an id must be that of an added image.
    """

    def __init__(self) -> None:
        self._added: list[Image] = []
        self._complete = False
        # How often a family's latest images were published anew.
        self._releases: Counter[AmiFamily] = Counter()

    def know(self, images: Iterable[Image]) -> None:
        """Have these images of users, and no others, beside the published ones."""
        self._added, self._complete = list(images), True

    def add(self, image: Image) -> None:
        """Add an image of a user's. Later ones are newer."""
        self._added.append(image)

    def publish(self, alias: str) -> str:
        """Publish newer images of the family of an alias ("al2023", "al2023@latest"), and return that alias.

        Raises:
            ValueError: there is no such family, or the alias is of one version, which never changes.
        """
        name, _, version = str(alias).partition("@")
        if name not in _FAMILIES:
            known = ", ".join(sorted(_FAMILIES))
            raise ValueError(f"there are no images {alias}{meant(name, _FAMILIES) or f': there are {known}'}")
        if version not in {"", _LATEST}:
            raise ValueError(f"{alias} is one version, which stays what it is: write {name}@{_LATEST}")
        self._releases[_FAMILIES[name]] += 1
        return f"{name}@{_LATEST}"

    def of(self, node_class: NodeClass) -> Mapping[str, Image]:
        """Return the image a node class launches for each architecture.

        Raises:
            NodeClassNotReadyError: there are none.
        """
        family, terms = node_class.ami_family, node_class.ami_terms
        if not terms and family is not AmiFamily.CUSTOM:
            return {image.arch: image for image in self._published(family, _LATEST)}
        found: dict[str, Image] = {}
        for term in terms:
            for image in self._meant(term, family):
                found.setdefault(image.arch, image)
        if not found:
            raise nothing_found("images", node_class, terms)
        return found

    def _meant(self, term: SelectorTerm, family: AmiFamily) -> tuple[Image, ...]:
        if term.alias:
            name, _, version = term.alias.partition("@")
            known = _FAMILIES.get(name)
            return () if known is None or not version else self._published(known, version)
        if term.ssm_parameter:
            return (_made_up(term.ssm_parameter, "arm64" if "arm64" in term.ssm_parameter else "amd64"),)
        added = tuple(
            image for image in reversed(self._added) if means(term, image) and term.owner in ("", image.owner)
        )
        if added or self._complete or term.id or not (term.name or term.tags):
            return added
        return _for_each_architecture(f"{term.name} {sorted(term.tags)} {term.owner}", family)

    def _published(self, family: AmiFamily, version: str) -> tuple[Image, ...]:
        releases = self._releases[family] if version == _LATEST else 0
        newer = f" release {releases}" if releases else ""
        return _for_each_architecture(f"{family.value}@{version}{newer}", family)


def _for_each_architecture(name: str, family: AmiFamily) -> tuple[Image, ...]:
    architectures = _ARCHITECTURES[:1] if family.windows else _ARCHITECTURES
    return tuple(_made_up(f"{name} {arch}", arch) for arch in architectures)


def _made_up(name: str, arch: str) -> Image:
    return Image(id=f"ami-{digits(name)}", arch=arch, name=name, owner="amazon")
