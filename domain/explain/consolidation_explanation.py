"""Explanation of a node's consolidation: the reason it was bought, whether it may go, and its blockers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.disruption.consolidation_candidates import consolidation_candidates
from treenail.domain.explain.consolidation_blockers import blockers_of
from treenail.domain.explain.explanation import Statement, ago
from treenail.domain.model import labels
from treenail.domain.model.consolidated_claims import read_origins
from treenail.domain.model.nodes import NodeClaim, NodeView

_ABOUT: Final = "consolidation"
# As AWS counts.
_HOURS_A_MONTH: Final = 730


def bought_to_save(claim: NodeClaim, now: datetime) -> Iterator[Statement]:
    """Yield what a node was bought for that came in place of dearer ones, as its claim says it."""
    origins = read_origins(claim)
    if origins is None:
        yield Statement(_ABOUT, f"Its annotation {labels.CONSOLIDATED} cannot be read.")
        return
    for own in origins[:1]:
        why = f" to save {_dollars(own.saving)}" if own.saving else ""
        replaced = ", ".join(map(str, own.replaced))
        yield Statement(_ABOUT, f"It was bought {ago(own.at, now)}{why} in place of {replaced}.")


def explain_consolidation(model: ClusterModel, view: NodeView, now: datetime) -> Iterator[Statement]:
    """Yield whether the pods of a node in use may be moved for it to go, each blocker, and what that saves.

    Prices are what claims say; whether the pods have places elsewhere is not looked at.
    """
    found = consolidation_candidates(model, now)
    for one in found.candidates:
        if one.name == view.name:
            saved = _at_most(one.cost, known=one.price is not None)
            yield Statement(
                _ABOUT,
                "Consolidation may give it up where its pods have places that cost less (`treenail plan` "
                f"looks for them): that would save {saved}.",
            )
            yield from _weight(model, view)
    for staying in found.staying:
        if staying.name != view.name:
            continue
        for blocker in blockers_of(model, view, staying.why, now):
            at_most = staying.would_save if blocker.removable else 0.0
            saved = _at_most(at_most, known=bool(at_most))
            yield Statement(
                _ABOUT,
                f"Consolidation leaves it: {blocker.sentence}. Without that, its going would save {saved}.",
            )


def _weight(model: ClusterModel, view: NodeView) -> Iterator[Statement]:
    """Yield to which pools a node may return for the sake of weight, where its pool asks for that."""
    own = model.objects.pools.get(view.pool)
    if own is None or own.return_premium is None:
        return
    heavier = sorted(pool.name for pool in model.objects.pools.values() if pool.weight > own.weight)
    if heavier:
        yield Statement(
            _ABOUT,
            f"Its pods may also go back to a pool of higher weight ({', '.join(heavier)}), where that costs "
            f"at most {own.return_premium:.0%} more ({labels.RETURN}).",
        )


def _at_most(dollars: float, *, known: bool) -> str:
    if not known:
        return "an amount that is not known"
    return f"at most {_dollars(dollars)}, its volumes and the overhead of a node included"


def _dollars(an_hour: float) -> str:
    return f"${an_hour:.4f}/h (${an_hour * _HOURS_A_MONTH:.0f} a month)"
