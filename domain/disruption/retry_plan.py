"""The retry plan for nodes that would go, but whose pods have no places: which are tried again, when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.disruption.disruption_candidates import DisruptionCandidate
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.pods import Pod
from treenail.domain.packing.plan import PackingPlan

# Each time half of those that found no places are tried again: so a thousand come down to one.
_MOST_TRIES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPlan:
    """Candidates whose pods lack places: those to plan for `again` at once, and those refused, with why.

    For `blocked` ones there are no places; for `later` ones there may be some soon.
    """

    again: tuple[DisruptionCandidate, ...]
    blocked: tuple[tuple[DisruptionCandidate, Blocker], ...]
    later: tuple[tuple[DisruptionCandidate, Blocker], ...]


def retry_plan_for(
    lacking: Sequence[tuple[DisruptionCandidate, tuple[Pod, ...]]], plan: PackingPlan, *, beside: int
) -> RetryPlan:
    """Return the retry plan for candidates that lack places in a plan on `beside` candidates.

    Places may be enough for some of the candidates, though not for all: half are tried again, until one alone
    shows whether there is a place for it.
    """
    why = {uid: group.sentence for group in plan.refused for uid in group.pods}
    nowhere = [(one, _unplaced(pods, why)) for one, pods in lacking if _refused(pods, why)]
    later = [(one, Block.UNDECIDED.by()) for one, pods in lacking if not _refused(pods, why)]
    alone = beside <= 1
    blocked = [(one, said) for one, said in nowhere if alone or one.tried >= _MOST_TRIES]
    several = [one for one, _ in nowhere if not alone and one.tried < _MOST_TRIES]
    half = (len(several) + 1) // 2
    later += [(one, Block.OTHERS_FIRST.by()) for one in several[half:]]
    again = tuple(replace(one, tried=one.tried + 1) for one in several[:half])
    return RetryPlan(again=again, blocked=tuple(blocked), later=tuple(later))


def _refused(pods: Sequence[Pod], why: Mapping[str, str]) -> bool:
    return any(pod.uid in why for pod in pods)


def _unplaced(pods: Sequence[Pod], why: Mapping[str, str]) -> Blocker:
    """Return which pods would have no place, the first with what was said of it."""
    said = [pod for pod in pods if pod.uid in why]
    others = f", and {len(said) - 1} more" if len(said) > 1 else ""
    return Block.POD_UNPLACED.by(said[0].key, f"{why[said[0].uid]}{others}")
