"""Attributes of spans that several traces share."""

from __future__ import annotations

from typing import Final

DECISION_ID: Final = "treenail.decision.id"
CLAIM: Final = "treenail.nodeclaim.name"
POOL: Final = "treenail.nodepool.name"
CAUSE: Final = "treenail.cause"
HURRIED: Final = "treenail.pods.hurried"
