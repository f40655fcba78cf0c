"""Pods that go nowhere, each for a reason that is known."""

from __future__ import annotations

from typing import Final

from tests.adapters.cli.refused_by_amounts import AMOUNTS, STOCK
from tests.adapters.cli.refused_by_labels import LABELS, TAINTS
from tests.adapters.cli.refused_by_topology import TOPOLOGY
from tests.adapters.cli.refused_by_volumes import VOLUMES

CASES: Final = (*TAINTS, *LABELS, *AMOUNTS, *STOCK, *TOPOLOGY, *VOLUMES)
