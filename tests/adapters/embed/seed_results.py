from __future__ import annotations

from typing import Any

from treenail.adapters.embed.seed_results import SeedResult

QUIET: dict[str, Any] = {
    "cost": 1.0,
    "median_wait": 30.0,
    "p99_wait": 60.0,
    "nodes_most": 2,
    "evictions": 0,
    "pending": 0,
    "blocked": 0,
    "below_budget": 0,
}


def result(seed: int, **numbers: Any) -> SeedResult:
    """Return a result that is the same for all seeds, but for `numbers`."""
    return SeedResult(seed=seed, **{**QUIET, **numbers})
