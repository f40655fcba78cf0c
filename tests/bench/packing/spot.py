"""What spot claims really cost, where EC2 chooses among what is offered to it.

A claim's price is that of its cheapest offering, but price-capacity-optimized looks at spare capacity too: a
claim that offers a few cheap types and many dear ones may cost more than it says. The model:

- Each spot offering (type, zone) has a depth from 1 to 10 by seed, type and zone alone: both sides meet the
  same market.
- As Karpenter and we launch, a claim offers its 60 cheapest types: as spot where it may and any is on offer,
  less spot that costs more than its cheapest on demand; else on demand, where the cheapest is taken.
- EC2 takes a spot offering with a weight of depth x (cheapest price / price)^4. These are the weights of our
  fake EC2, but over all offerings, where the fake looks at the dozen cheapest alone.
- A claim costs the mean over that draw, so that there is no luck in the figure but the market's.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tests.bench.packing.decisions import Claim, Decision
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType

MARKETS: Final = 20
_MOST_TYPES: Final = 60
_DEEPEST: Final = 10
_PRICE_WEIGHT: Final = 4


@dataclass(frozen=True, slots=True)
class Option:
    """An offering that EC2 may take, at a price in $/h."""

    instance_type: str
    zone: str
    price: float

    def weight(self, market: int, cheapest: float) -> float:
        """Return how often it is taken in a market, the cheapest offering beside it being at `cheapest`."""
        text = f"{market}/{self.instance_type}/{self.zone}"
        drawn = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big") / 2**48
        return (1 + int(drawn * _DEEPEST)) * (cheapest / self.price) ** _PRICE_WEIGHT


@dataclass(frozen=True)
class Offered:
    """What a claim offers to EC2: spot, or else on demand; `types` is how many."""

    spot: tuple[Option, ...]
    on_demand: tuple[Option, ...]

    @cached_property
    def types(self) -> int:
        return len({o.instance_type for o in self.spot or self.on_demand})

    def cost(self, market: int) -> float:
        """Return what the claim costs in a market, $/h."""
        if not self.spot:
            return min(o.price for o in self.on_demand)
        cheapest = min(o.price for o in self.spot)
        weights = [o.weight(market, cheapest) for o in self.spot]
        return sum(w * o.price for w, o in zip(weights, self.spot, strict=True)) / sum(weights)


class Launches:
    """What claims would come to with these instance types."""

    def __init__(self, types: Iterable[InstanceType]) -> None:
        self._types = {t.name: t for t in types}

    def types_per_spot_claim(self, decision: Decision) -> float | None:
        """Return the median; None where no claim would be spot."""
        counts = [offered.types for c in decision.node_claims if (offered := self.offered(c)).spot]
        return statistics.median(counts) if counts else None

    def costs(self, decision: Decision, markets: int = MARKETS) -> tuple[float, ...]:
        """Return what all claims cost together, $/h, in each market."""
        offered: dict[Offered, int] = {}
        for claim in decision.node_claims:
            what = self.offered(claim)
            offered[what] = offered.get(what, 0) + 1
        return tuple(sum(o.cost(m) * n for o, n in offered.items()) for m in range(markets))

    def offered(self, claim: Claim) -> Offered:
        """Return what a claim offers."""
        names = claim.instance_types[:_MOST_TYPES]
        spot = self._options(claim, names, labels.SPOT)
        on_demand = self._options(claim, names, labels.ON_DEMAND)
        ceiling = min((o.price for o in on_demand), default=float("inf"))
        return Offered(tuple(o for o in spot if o.price <= ceiling), on_demand)

    def _options(self, claim: Claim, names: Sequence[str], capacity_type: str) -> tuple[Option, ...]:
        if not claim.allows(labels.CAPACITY_TYPE, capacity_type):
            return ()
        return tuple(
            Option(name, offering.zone, offering.price)
            for name in names
            for offering in self._types[name].offerings
            if offering.capacity_type == capacity_type
            and offering.available
            and claim.allows(labels.ZONE, offering.zone)
        )
