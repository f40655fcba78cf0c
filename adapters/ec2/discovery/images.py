"""Machine images that selector terms select."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from treenail.adapters.ec2.described import ARCHITECTURES
from treenail.adapters.ec2.discovery.asking import Aws, matching
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.discovery.parameters import Parameters
from treenail.adapters.ec2.discovery.published_images import LATEST, published, unpublished
from treenail.adapters.ec2.discovery.terms import questions
from treenail.adapters.ec2.resolved import Image
from treenail.domain.model import labels
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import AmiFamily, NodeClass, SelectorTerm
from treenail.domain.status.node_class_parts import nothing_found

if TYPE_CHECKING:  # the types of answers are not there at run time
    from types_boto3_ec2.type_defs import FilterTypeDef, ImageTypeDef

_SECONDS: Final = 60.0
_PAGE: Final = 1000
_PREFIX: Final = "ami-"
# Whose images a name means where no owner is given: anybody may call an image as they like.
_TRUSTED: Final = ("amazon", "self")
# Of the new API's classes the tags of images say nothing.
_WITHOUT_TAGS: Final = "EC2NodeClass"
_FAMILIES: Final = {family.value.lower(): family for family in AmiFamily if family is not AmiFamily.CUSTOM}


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The key of a search for images: everything the images of a node class depend on.

    With `by_tags`, those tags of an image that are labels of nodes say which types it is for.
    """

    terms: tuple[SelectorTerm, ...]
    kubernetes: str
    by_tags: bool


class Images:
    """Finds images; what it found it remembers for `seconds`, by default a minute.

    `kubernetes_version` gives the cluster's version as "1.34"; it may raise PortErrors.
    """

    def __init__(
        self,
        aws: Aws,
        caches: AnswerCaches,
        kubernetes_version: Callable[[], str],
        *,
        seconds: float = _SECONDS,
    ) -> None:
        self._aws = aws
        self._clock = caches.clock
        self._version = kubernetes_version
        self._parameters = Parameters(aws, caches)
        self._found = caches.of("images", self._find, seconds=seconds)

    def of(self, node_class: NodeClass) -> tuple[Image, ...]:
        """Return the images of a node class, newest first: one for each architecture and variant.

        Raises:
            NodeClassNotReadyError: there are none, or an alias is of a family that has none for the version.
            PortError: they could not be looked up.
        """
        terms = _terms(node_class)
        aliased = any(term.alias for term in terms)
        wanted = _Wanted(terms, self._version() if aliased else "", node_class.ref.kind != _WITHOUT_TAGS)
        if node_class.ami_terms and aliased:
            _check_aliases(node_class, wanted)
        found = self._found.get(wanted)
        if not found:
            more = f", for Kubernetes {wanted.kubernetes}" if aliased else ""
            raise nothing_found("images", node_class, terms, more=more)
        return found

    def _find(self, wanted: _Wanted) -> tuple[Image, ...]:
        found = [image for term in wanted.terms if term.alias for image in self._aliased(term, wanted)]
        selected = self._selected([term for term in wanted.terms if not term.alias])
        found.extend(selected if wanted.by_tags else (replace(image, labels=()) for image in selected))
        best: dict[tuple[object, ...], Image] = {}
        for image in sorted(found, key=lambda one: (not one.deprecated, one.created_at, one.name, one.id)):
            best[image.arch, image.variant, image.labels] = image
        by_id = sorted(best.values(), key=lambda one: one.id)
        return tuple(sorted(by_id, key=lambda one: one.created_at, reverse=True))

    def _aliased(self, term: SelectorTerm, wanted: _Wanted) -> Iterator[Image]:
        name, _, version = term.alias.partition("@")
        family = _FAMILIES.get(name.lower())
        places = published(family, version, wanted.kubernetes) if family else ()
        read = self._parameters.published
        ids = {place: image_id for place in places if (image_id := read(place.parameter))}
        asked = [matching("image-id", sorted(set(ids.values())))]
        described = {image.id: image for image in self._asked(asked, ())} if ids else {}
        for place, image_id in ids.items():
            image = described.get(image_id)
            if image is not None:
                yield replace(image, variant=place.variant, labels=())
            if place.moves and (image is None or image.deprecated):
                self._parameters.forget(place.parameter)

    def _selected(self, terms: Sequence[SelectorTerm]) -> Iterator[Image]:
        by_owners: defaultdict[tuple[str, ...], list[SelectorTerm]] = defaultdict(list)
        for written in terms:
            term = self._by_id(written)
            if term is not None:
                by_owners[_owners(term)].append(term)
        for owners, group in by_owners.items():
            for filters in questions(group, by_id="image-id", by_name="name"):
                yield from self._asked(filters, owners)
            if any(term == SelectorTerm(owner=term.owner) for term in group):
                yield from self._asked([], owners)

    def _by_id(self, term: SelectorTerm) -> SelectorTerm | None:
        """Return the term with the id that its parameter holds; None where that is none, or another's."""
        if not term.ssm_parameter:
            return term
        image = self._parameters.value(term.ssm_parameter)
        if not image.startswith(_PREFIX) or term.id not in ("", image):
            return None
        return replace(term, id=image, ssm_parameter="")

    def _asked(self, filters: list[FilterTypeDef], owners: Sequence[str]) -> Iterator[Image]:
        usable = [*filters, matching("state", ("available",))]
        ask = partial(
            self._aws.clients.ec2.describe_images, Filters=usable, IncludeDeprecated=True, MaxResults=_PAGE
        )
        if owners:
            ask = partial(ask, Owners=owners)
        for page in self._aws.pages("ec2", "DescribeImages", ask):
            for described in page["Images"]:
                image = self._image(described)
                if image is not None:
                    yield image

    def _image(self, described: ImageTypeDef) -> Image | None:
        arch = ARCHITECTURES.get(described.get("Architecture", ""))
        if arch is None:
            return None
        end = described.get("DeprecationTime")
        return Image(
            id=described["ImageId"],
            arch=arch,
            name=described.get("Name", ""),
            created_at=datetime.fromisoformat(described["CreationDate"]),
            deprecated=end is not None and datetime.fromisoformat(end) <= self._clock.now(),
            labels=_labels(described),
        )


def _labels(described: ImageTypeDef) -> tuple[tuple[str, str], ...]:
    """Return which of an image's tags are labels, less its architecture: that EC2 knows itself."""
    tags = {tag.get("Key", ""): tag.get("Value", "") for tag in described.get("Tags", ())}
    return tuple(sorted((k, v) for k, v in tags.items() if k in labels.WELL_KNOWN and k != labels.ARCH))


def _check_aliases(node_class: NodeClass, wanted: _Wanted) -> None:
    """Refuse aliases of images that AWS does not make for the version, whatever the parameters say."""
    for term in wanted.terms:
        family = _FAMILIES.get(term.alias.partition("@")[0].lower())
        why = unpublished(family, wanted.kubernetes) if family else ""
        if why:
            raise NodeClassNotReadyError(
                f"{node_class.ref}: its alias {term.alias} means no images: {why}", reason="UnsupportedAlias"
            )


def _terms(node_class: NodeClass) -> tuple[SelectorTerm, ...]:
    """Return the terms of a node class; without any it means the latest images of its family."""
    family = node_class.ami_family
    if node_class.ami_terms or family is AmiFamily.CUSTOM:
        return node_class.ami_terms
    return (SelectorTerm(alias=f"{family.value.lower()}@{LATEST}"),)


def _owners(term: SelectorTerm) -> tuple[str, ...]:
    if term.owner:
        return (term.owner,)
    return _TRUSTED if term.name else ()
