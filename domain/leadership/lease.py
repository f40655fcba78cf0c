"""A Lease of coordination.k8s.io, and the times that those keep who want it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

# How the identities of our replicas begin; those of Karpenter's begin with the name of its pod.
IDENTITY_PREFIX: Final = "treenail_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A Lease as it is written.

    `holder` is "" where nobody has it. It is good for `seconds` after it was renewed. The two times are as
    its holder's clock had them: people read them, and they are compared with no other clock. `version` is its
    resourceVersion, "" of one that was not written yet.
    """

    holder: str
    seconds: int
    acquired_at: str = ""
    renewed_at: str = ""
    transitions: int = 0
    version: str = ""

    def given_up(self) -> Lease:
        """Return it as its holder leaves it: for whoever asks next, at once."""
        return replace(self, holder="", seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTiming:
    """The seconds by which a lease is won and kept: the first three are Karpenter's and client-go's.

    `lease`: how long it is good for after a renewal, to all others. `renew_within`: how long its holder takes
    it to be good; the difference is for calls that are under way and for clocks that run at different speeds.
    `renew_every`: the pause between renewals. `look_every`: the pause between the looks of those who wait;
    the sooner a last renewal is seen, the sooner it is over. `spread`: the share that chance adds to a wait,
    at most.
    """

    lease: int = 15
    renew_within: float = 10.0
    renew_every: float = 2.0
    look_every: float = 1.0
    spread: float = 0.25
