"""Clusters whose nodes are worth giving up or replacing, and what is on sale there."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Given
from tests.conformance.instance_types import Size
from tests.conformance.objects import FREE, deployment, pool
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import scaled
from tests.conformance.steps.placement import nodes, noted, running
from tests.scenarios.manifests import Manifest
from treenail.domain.disruption.consolidation_pass import ConsolidationRules

# Karpenter asks no payback: any saving will do.
ACTING: Final[dict[str, Any]] = {"consolidation": ConsolidationRules(payback=None)}
SPOT_TOO: Final[dict[str, Any]] = {"consolidation": ConsolidationRules(payback=None, spot_to_spot=True)}
ONE_TYPE: Final = (Size(name="default", pods=50),)
TWO_SIZES: Final = (Size(name="small", cpu=2, gib=2), Size(name="large", cpu=16, gib=16, pods=50))
SPOT_IN_Z1: Final = (("z1", "spot"),)
MERGING: Final = Setting(scheduler=True, types=ONE_TYPE, system=ACTING)
REPLACING: Final = Setting(scheduler=True, types=TWO_SIZES, system=ACTING)
KEEP: Final = {"karpenter.sh/do-not-disrupt": "true"}
FILL: Final = {"cpu": "2800m"}
APP: Final = {"cpu": "900m"}
SPOT: Final = "way In spot"
# By then all that there is to do has been done.
LONG: Final = "25m"


def consolidating(*needs: str, name: str = "default", **more: Any) -> Manifest:
    """Return a pool, on demand unless it needs else, whose nodes are given up as soon as they may be."""
    return pool(
        name,
        *(needs or ("way In on-demand",)),
        **{"policy": "WhenEmptyOrUnderutilized", "after": "0s", "budgets": FREE, **more},
    )


def part_filled(
    count: int,
    *needs: str,
    given: tuple[Given, ...] = (),
    each: dict[int, Any] | None = None,
    fill: dict[str, str] = FILL,
    app: dict[str, str] = APP,
    **of: Any,
) -> list[Given]:
    """Return the steps that leave so many nodes with a small pod app-N each: all of these fit on one."""
    before: list[Given] = [consolidating(*needs, **{**of, "budgets": [{"nodes": "0"}]}), *given]
    names = [f"fill-{n}" for n in range(count)]
    before += [*(deployment(name, requests=fill) for name in names), running(count), nodes(count)]
    before += [deployment(f"app-{n}", **{"requests": app, **(each or {}).get(n, {})}) for n in range(count)]
    before += [nodes(count), *(noted(f"app-{n}") for n in range(count))]
    return [*before, scaled(names[0], 0, *names[1:]), consolidating(*needs, **of)]


def oversized(
    *needs: str, given: tuple[Given, ...] = (), app: dict[str, Any] | None = None, **of: Any
) -> list[Given]:
    """Return the steps that leave a large node with a small pod on it."""
    frozen = consolidating(*needs, **{**of, "budgets": [{"nodes": "0"}]})
    return [
        frozen,
        *given,
        deployment("fill", requests={"cpu": "12"}),
        deployment("app", **{"requests": APP, **(app or {})}),
        running(2),
        nodes(1),
        scaled("fill", 0),
        consolidating(*needs, **of),
    ]


def spot_types(count: int, *, large: int = 1) -> tuple[Size, ...]:
    """Return so many small types on spot, each dearer than the one before, and dearer large ones."""
    return (
        *(
            Size(name=f"type-{n:02}", cpu=2, gib=2, price=1 + n * 0.1, places=SPOT_IN_Z1)
            for n in range(count)
        ),
        *(Size(name=f"large-{n:02}", cpu=16, gib=16, price=20 + n, places=SPOT_IN_Z1) for n in range(large)),
    )


def on_spot(types: tuple[Size, ...], *, gate: bool = True) -> Setting:
    """Return the setting in which these types are on sale, with or without the gate for spot to spot."""
    return Setting(scheduler=True, types=types, system=SPOT_TOO if gate else ACTING)
