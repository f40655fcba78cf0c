"""`treenail` with a lease that is over sooner, so that a test of many takeovers is not all waiting."""

from __future__ import annotations

from typing import Final

from treenail.adapters.cli.main import main
from treenail.adapters.controller import candidacy
from treenail.domain.leadership.lease import LeaseTiming

TIMING: Final = LeaseTiming(lease=5, renew_within=3.4, renew_every=0.7, look_every=0.35)

if __name__ == "__main__":
    candidacy.TIMING = TIMING
    main()
