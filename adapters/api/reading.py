"""The input of a translation beside the model, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from treenail.adapters.api.core.pod_specs import PodSpecs
from treenail.adapters.api.workloads import ApiObject

# When an object was created that does not say: before everything else.
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The context of one reading of many objects. Equal pod specs become one object within it.

    With `templates`, watched workloads are read with the templates of their pods. With `for_pods_only`, they
    are read as wanting no nodes for pods that do not exist yet. `at` is the time of creation of objects that
    have none (those of a manifest, not of the API server).
    """

    at: datetime = LONG_AGO
    templates: bool = False
    for_pods_only: bool = False
    specs: PodSpecs = field(default_factory=PodSpecs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """The translation of an object of the API: mostly one object, two for a Provisioner with a provider.

    `not_acted_on` are paths of fields it sets that are accepted though not acted on.
    """

    objects: tuple[ApiObject, ...]
    not_acted_on: tuple[str, ...] = ()
