"""Pools: what nodes they may buy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.fuzz.check.amounts import Amounts, amounts
from tests.fuzz.check.catalogue import HOSTNAME, POOL, Catalogue
from tests.fuzz.check.homes import NewNode, Way
from tests.fuzz.check.label_values import Allowed, Labels, allowed, merged

Written: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Pool:
    """A pool: `lines` is what it says of its nodes' labels, by key; `limits` what all may have together."""

    name: str
    labels: Labels
    lines: Mapping[str, Allowed]
    taints: tuple[Written, ...]
    limits: Amounts
    min_values: Mapping[str, int]

    @classmethod
    def of(cls, written: Written) -> Pool:
        template = written["spec"]["template"]
        name, spec = written["metadata"]["name"], template["spec"]
        labels = {**((template.get("metadata") or {}).get("labels") or {}), POOL: name}
        requirements = spec.get("requirements") or []
        own = [(key, allowed("In", [value])) for key, value in labels.items()]
        return cls(
            name=name,
            labels=labels,
            lines=merged(
                [*((r["key"], allowed(r["operator"], r.get("values"))) for r in requirements), *own]
            ),
            taints=tuple(spec.get("taints") or ()),
            limits=amounts(written["spec"].get("limits")),
            min_values=_min_values(requirements),
        )

    def new_node(
        self,
        name: str,
        catalogue: Catalogue,
        lines: Mapping[str, Allowed],
        types: Sequence[str] | None = None,
    ) -> NewNode:
        """Return a node of these types that keeps to `lines` too."""
        kept = dict(self.lines)
        for key, values in lines.items():
            kept[key] = kept[key].both(values) if key in kept else values
        ways = list(self._ways(name, catalogue, kept, catalogue if types is None else types))
        settled = {key for way in ways for key in way.labels}
        unsettled = {key: values for key, values in kept.items() if key not in settled}
        return NewNode(name, self.name, self.taints, ways, unsettled if ways else {})

    def _ways(
        self, name: str, catalogue: Catalogue, lines: Mapping[str, Allowed], types: Sequence[str] | Catalogue
    ) -> Iterator[Way]:
        for one in types:
            if one not in catalogue:
                continue
            for offering in catalogue[one].offerings:
                labels = {**offering.labels, **self.labels, HOSTNAME: name}
                if all(key not in labels or values.has(labels[key]) for key, values in lines.items()):
                    yield Way(catalogue[one], labels, offering.price)


def _min_values(requirements: Sequence[Written]) -> dict[str, int]:
    found: dict[str, int] = {}
    for requirement in requirements:
        if requirement.get("minValues"):
            key = requirement["key"]
            found[key] = max(found.get(key, 0), requirement["minValues"])
    return found
