"""Early notices: warnings of instances that no claim names yet, kept while a launch may name them."""

from __future__ import annotations

from datetime import datetime
from math import inf

from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import NodeClaim


class EarlyNotices:
    """Notices of unknown instances, kept as long as one may be of a claim whose launch is under way.

    Claims are known before their machines are asked for. So a machine that EC2 tells of is of a claim that
    was being launched by then, or it is none of ours; before all is known (`know_all`) there is no telling.
    """

    def __init__(self) -> None:
        self._all_known = False
        self._begun = 0
        # Claims without an instance, by the number of their launch, oldest first.
        self._launching: dict[str, int] = {}
        # By instance: the last launch that had begun when it was first told of, oldest first.
        self._after: dict[str, float] = {}
        # The same told twice is kept once: with the same end for the same cause.
        self._kept: dict[str, dict[tuple[Cause, datetime | None], NodeInterrupted]] = {}
        self._found: list[NodeInterrupted] = []

    def keep(self, notice: NodeInterrupted) -> bool:
        """Keep a notice of an instance that is not known; False where it cannot be ours."""
        if self._all_known and not self._launching:
            return False
        instance_id = notice.instance_id
        self._after.setdefault(instance_id, self._begun if self._all_known else inf)
        self._kept.setdefault(instance_id, {})[notice.cause, notice.deadline] = notice
        return True

    def note(self, name: str, claim: NodeClaim | None) -> None:
        """Take in the present state of the claim `name`; None if there is none (any more)."""
        if claim is not None and not claim.launched and _may_be_launched(claim):
            if name not in self._launching:
                self._begun += 1
                self._launching[name] = self._begun
            return
        self._launching.pop(name, None)
        if claim is not None and claim.launched:
            self.find(claim.instance_id)

    def find(self, instance_id: str) -> None:
        """Take in that an instance is ours."""
        if self._after.pop(instance_id, None) is not None:
            self._found += self._kept.pop(instance_id).values()

    def know_all(self) -> tuple[str, ...]:
        """Take in that all claims were noted; return the instances told of before, when that is news."""
        if self._all_known:
            return ()
        self._all_known = True
        self._after = dict.fromkeys(self._after, self._begun)
        return tuple(self._after)

    def take_found(self) -> tuple[NodeInterrupted, ...]:
        """Return the notices of instances that turned out to be ours, in order, and keep them no longer."""
        found, self._found = self._found, []
        return tuple(found)

    def take_foreign(self) -> tuple[str, ...]:
        """Return the instances that turned out not to be ours, and drop their notices."""
        if not self._after:
            return ()
        oldest = next(iter(self._launching.values()), inf)
        foreign: list[str] = []
        for instance_id, after in self._after.items():
            if after >= oldest:
                break
            foreign.append(instance_id)
        for instance_id in foreign:
            del self._after[instance_id], self._kept[instance_id]
        return tuple(foreign)


def _may_be_launched(claim: NodeClaim) -> bool:
    """Return whether a claim may come to have an instance, also one that goes but was asked for before."""
    return not claim.leaving or LaunchMark.of(claim) is not None
