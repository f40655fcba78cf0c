"""The plan: what the packer decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treenail.domain.model.requirements import Requirements
from treenail.domain.model.reserved_claims import asked_reservation
from treenail.domain.model.resources import Resources
from treenail.domain.packing.refusal_reasons import Refusal, sentence
from treenail.domain.packing.remedies import Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedClaim:
    """A node to buy. `pods` are uids; `instance_types` cheapest first; `price` is the cheapest's, $/h.

    `requirements` are what the node's labels must be (pool and pods together). `requests` are those of
    the pods and of the daemons that will run there for sure. `largest` is, by resource, the most
    capacity any of the types has: what the claim counts with against limits until it is launched.
    `surcharge` is what the node costs beside its price, $/h. `price_overlaid` says that a NodeOverlay sets
    the price of one of the types, and `capacity_overlaid` that one adds to what it has.
    """

    pool: str
    pods: tuple[str, ...]
    requirements: Requirements
    instance_types: tuple[str, ...]
    requests: Resources
    largest: Resources
    price: float
    surcharge: float = 0.0
    price_overlaid: bool = False
    capacity_overlaid: bool = False

    @property
    def reservation(self) -> str:
        """The id of the capacity reservation that it is bought in, "" for none."""
        return asked_reservation(self.requirements)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedClass:
    """Alike pods that could not be placed, and each pool's first reason, pools in the order tried.

    `nearest` is the pool, or the node, where they came furthest; `remedy` what would let them be placed,
    as far as one was looked for and found.
    """

    pods: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    nearest: Refusal | None = None
    remedy: Remedy | None = None

    @property
    def sentence(self) -> str:
        """All of it as one line for a person."""
        return sentence(self.refusals, self.nearest, self.remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassReport:
    """The places of one class's pods, for the trace: how many went to which node (name) or claim (index).

    For those refused, as in `RefusedClass`, the reasons, the nearest of them and what would help.
    """

    example: str
    pods: int
    to_existing_nodes: Mapping[str, int] = field(default_factory=dict)
    to_claims: Mapping[int, int] = field(default_factory=dict)
    refused: int = 0
    refusals: tuple[Refusal, ...] = ()
    nearest: Refusal | None = None
    remedy: Remedy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingPlan:
    """A plan of where every pod of a problem goes: to an existing node, to a claim, or nowhere.

    `nominations` are the names of existing nodes by pod uid. `cost` is the sum of the claims' prices.
    `lower_bound` is what no nodes for the same pods can cost less than, in whatever domains, if they keep
    the preferences they have. Both are $/h. `whole_cost` and `whole_lower_bound` are the same with what nodes
    cost beside their prices. `exhausted` says that the budget of steps ended before all pods were tried;
    those left are in `deferred`. `problems` are errors that cost no pod its place, but cheaper nodes or
    advice.
    """

    claims: tuple[PlannedClaim, ...] = ()
    nominations: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[RefusedClass, ...] = ()
    classes: tuple[ClassReport, ...] = ()
    deferred: tuple[str, ...] = ()
    cost: float = 0.0
    lower_bound: float = 0.0
    whole_cost: float = 0.0
    whole_lower_bound: float = 0.0
    exhausted: bool = False
    problems: tuple[str, ...] = ()
