"""Claims whose launch came to nothing, until they go."""

from __future__ import annotations

from dataclasses import dataclass, replace

from treenail.domain.disruption.disruption import ClaimGivenUp
from treenail.domain.model.nodes import NodeClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """The message that `says` that a claim comes to nothing, and whether that is known to be `written`."""

    says: ClaimGivenUp
    written: bool


class GivenUpClaims:
    """The claims that were given up. One whose writing was never answered may show up later. Mutable."""

    def __init__(self) -> None:
        self._given_up: dict[str, GivenUp] = {}

    def add(self, says: ClaimGivenUp, *, written: bool) -> None:
        """Give a claim up."""
        self._given_up[says.name] = GivenUp(says=says, written=written)

    def get(self, name: str) -> GivenUp | None:
        """Return a claim that was given up and has not gone yet, as far as is known."""
        return self._given_up.get(name)

    def note(self, claim: NodeClaim) -> None:
        """Take in that a claim is written, and whether it goes."""
        given_up = self._given_up.get(claim.name)
        if given_up is not None and claim.leaving:
            del self._given_up[claim.name]
        elif given_up is not None:
            self._given_up[claim.name] = replace(given_up, written=True)

    def gone(self, name: str) -> None:
        """Take in that a claim is not there: for one that was not known to be written that is no news."""
        given_up = self._given_up.get(name)
        if given_up is not None and given_up.written:
            del self._given_up[name]
