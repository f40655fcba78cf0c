"""Claims by the CreateFleet call that they are marked for, launched ones included."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from treenail.domain.launch.launching import LaunchMark, launch_name, launch_token
from treenail.domain.model.claims import DECISION
from treenail.domain.model.nodes import NodeClaim

# Karpenter launches a claim within seconds, and says which instance it got.
_OF_OTHERS: Final = timedelta(seconds=60)


class MarkedClaims:
    """Every claim that is marked for a call, as last known. Mutable."""

    def __init__(self) -> None:
        self._marked: dict[str, NodeClaim] = {}
        self._by_token: dict[str, dict[str, None]] = {}

    def note(self, claim: NodeClaim) -> None:
        """Keep a claim under the call it is marked for, unless that is old news."""
        before = self._marked.get(claim.name)
        if before is not None and claim.resource_version < before.resource_version:
            return
        self.forget(claim.name)
        mark = LaunchMark.of(claim)
        if mark is not None:
            self._marked[claim.name] = claim
            self._by_token.setdefault(mark.token, {})[claim.name] = None

    def forget(self, name: str) -> None:
        """Take in that a claim is gone."""
        before = self._marked.pop(name, None)
        mark = LaunchMark.of(before) if before is not None else None
        if mark is not None:
            del self._by_token[mark.token][name]
            if not self._by_token[mark.token]:
                del self._by_token[mark.token]

    def of(self, token: str) -> tuple[NodeClaim, ...]:
        """Return the claims of a call, by name."""
        return tuple(self._marked[name] for name in sorted(self._by_token.get(token, ())))

    def incomplete(self) -> dict[tuple[str, str], str]:
        """Return, by pool and decision, a call that is still to be answered and lacks marks of its claims."""
        found: dict[tuple[str, str], str] = {}
        for token, names in sorted(self._by_token.items()):
            waits = not all(self._marked[name].provider_id for name in names)
            if waits and launch_token(launch_name(self._marked[name]) for name in sorted(names)) != token:
                found.setdefault(origin(self._marked[min(names)]), token)
        return found


def ours_from(claim: NodeClaim) -> datetime:
    """Return from when on a claim that was left unlaunched is ours to launch.

    One of a pool that no decision of ours made is another controller's, which may be launching it just now.
    """
    ours = claim.stands_alone or DECISION in claim.annotations or LaunchMark.of(claim) is not None
    return claim.created_at + (timedelta(0) if ours else _OF_OTHERS)


def origin(claim: NodeClaim) -> tuple[str, str]:
    """Return which pool a claim is of, and which decision."""
    return claim.pool, claim.annotations.get(DECISION, "")
