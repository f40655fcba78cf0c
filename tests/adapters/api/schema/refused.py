"""Every object of the tables that must be refused, by what is wrong with it."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.schema.refused_beta import REFUSED_BETA
from tests.adapters.api.schema.refused_buffers import REFUSED_BUFFERS
from tests.adapters.api.schema.refused_claims import REFUSED_CLAIMS
from tests.adapters.api.schema.refused_classes import REFUSED_CLASSES
from tests.adapters.api.schema.refused_disruption import REFUSED_DISRUPTION
from tests.adapters.api.schema.refused_old import REFUSED_OLD
from tests.adapters.api.schema.refused_overlays import REFUSED_OVERLAYS
from tests.adapters.api.schema.refused_pools import REFUSED_POOLS
from tests.adapters.api.schema.refused_static_pools import REFUSED_STATIC_POOLS
from tests.adapters.api.schema.trees import Refused

REFUSED: Final[dict[str, Refused]] = {
    **REFUSED_POOLS,
    **REFUSED_DISRUPTION,
    **REFUSED_CLAIMS,
    **REFUSED_BUFFERS,
    **REFUSED_CLASSES,
    **REFUSED_BETA,
    **REFUSED_OLD,
    **REFUSED_OVERLAYS,
    **REFUSED_STATIC_POOLS,
}
