"""Codes for why pods wait: what decisions refused them for, and why their claims failed."""

from __future__ import annotations

from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.launch.launching import ClaimFailed


class RefusalLog:
    """The code that was said of each pod last, by its uid, while no decision has placed it since. Mutable."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._placed: dict[str, dict[str, None]] = {}
        # The latest place of a pod: failures of earlier ones are about it no more.
        self._places: dict[str, str] = {}

    def note(self, actor: str, message: object) -> None:
        """Take in what an actor is told: of interest are plans, and claims that failed."""
        del actor
        match message:
            case PlanCommitted():
                self._plan(message)
            case ClaimFailed(claim=claim, cause=cause):
                self._codes |= dict.fromkeys(self._placed.pop(f"nodeclaim/{claim}", ()), cause.value)
            case _:
                pass

    def _plan(self, plan: PlanCommitted) -> None:
        for pod, place in plan.places:
            self._codes.pop(pod.uid, None)
            self._leave(pod.uid)
            self._places[pod.uid] = node = place.partition(",")[0]
            self._placed.setdefault(node, {})[pod.uid] = None
        for pod, refused in plan.refused:
            self._leave(pod.uid)
            self._codes[pod.uid] = refused.nearest.reason.value if refused.nearest is not None else ""

    def _leave(self, uid: str) -> None:
        self._placed.get(self._places.pop(uid, ""), {}).pop(uid, None)

    def code(self, uid: str) -> str:
        """Return a code such as "LimitReached" or "insufficient_capacity"; "" where nothing was said."""
        return self._codes.get(uid, "")
