"""Discoveries for node classes, logged once: when first found, and when they change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treenail.domain.model.node_class_status import NodeClassMeaning
from treenail.domain.model.node_classes import NodeClass


@dataclass(frozen=True, slots=True)
class Discovery:
    """A line for people: its message and fields."""

    message: str
    fields: dict[str, object]


class Discoveries:
    """Discoveries that were logged, by node class. Mutable."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], object] = {}

    def of(self, node_class: NodeClass, meaning: NodeClassMeaning) -> Iterator[Discovery]:
        """Yield what is new of a node class's subnets, security groups and images."""
        name = str(node_class.ref)
        subnets = sorted(f"{one.id} ({one.zone})" for one in meaning.subnets)
        groups = [one.id for one in meaning.security_groups]
        # One image may be for several kinds of types.
        images = list(dict.fromkeys(one.id for one in meaning.images))
        for message, what, found in (
            ("discovered subnets", "subnets", subnets),
            ("discovered security groups", "security_groups", groups),
            ("discovered ami", "ids", images),
        ):
            if found and self._told.get((name, what)) != found:
                self._told[name, what] = found
                yield Discovery(message, {"node_class": name, what: found})
