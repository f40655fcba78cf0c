"""Descriptions of objects and fields, as `kubectl explain` shows them."""

from __future__ import annotations

import inspect
from typing import Final

from treenail.adapters.api.schema.texts.capacity_buffers import CAPACITY_BUFFERS
from treenail.adapters.api.schema.texts.node_classes import NODE_CLASSES
from treenail.adapters.api.schema.texts.pools_and_claims import POOLS_AND_CLAIMS
from treenail.adapters.api.schema.texts.shared import SHARED, Texts
from treenail.adapters.api.schema.texts.statuses import STATUSES
from treenail.adapters.api.schema.texts.v1beta1 import V1BETA1

_ALL: Final[Texts] = {**SHARED, **POOLS_AND_CLAIMS, **NODE_CLASSES, **STATUSES, **V1BETA1, **CAPACITY_BUFFERS}


def text_of(model: type, field: str = "") -> str:
    """Return what `model` is, or what its `field` is for; "" where nothing is said of it."""
    said = next((_ALL[base][field] for base in model.__mro__ if field in _ALL.get(base, ())), "")
    return said or ("" if field else inspect.cleandoc(model.__doc__ or "").partition("\n\n")[0])
