"""`SCHEDULER_CONFIG`: what the cluster's scheduler does that packing must do too, in YAML or JSON."""

from __future__ import annotations

from typing import Final

import msgspec

from treenail.adapters.api.core.pod_model import SpreadModel
from treenail.adapters.api.core.pod_scheduling import spread
from treenail.adapters.api.diagnosis import first_problem
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.names import check_key
from treenail.adapters.api.yaml_documents import NotYamlError, parse
from treenail.domain.model.pods import TopologySpread

_AT: Final = "podTopologySpread.defaultConstraints"
_FIELDS: Final = frozenset(one.encode_name for one in msgspec.structs.fields(SpreadModel))


class _PodTopologySpread(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    default_constraints: tuple[SpreadModel, ...] = ()


class _Config(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    pod_topology_spread: _PodTopologySpread = _PodTopologySpread()


class _RawSpread(msgspec.Struct, rename="camel", frozen=True):
    default_constraints: tuple[dict[str, object], ...] = ()


class _Raw(msgspec.Struct, rename="camel", frozen=True):
    pod_topology_spread: _RawSpread = _RawSpread()


def default_spread(written: str) -> tuple[TopologySpread, ...]:
    """Read the constraints that the scheduler gives pods without any; an empty text means none.

    Raises:
        ValueError: it is no such configuration, or the scheduler would refuse it.
    """
    try:
        documents = parse(written.encode())
        if not documents:
            return ()
        if len(documents) != 1:
            raise ValueError("is not one document of YAML or JSON")
        problem = first_problem(documents[0], _Config)
        if problem is not None:
            raise problem
        _check_fields(msgspec.convert(documents[0], _Raw).pod_topology_spread.default_constraints)
        return _checked(msgspec.convert(documents[0], _Config).pod_topology_spread.default_constraints)
    except NotYamlError as error:
        raise ValueError(f"is no YAML: {error}") from None
    except FieldError as error:
        raise ValueError(f"cannot be followed: {error}") from None


def _check_fields(constraints: tuple[dict[str, object], ...]) -> None:
    """Refuse fields that there are not, which are passed over in pods."""
    for number, written in enumerate(constraints):
        for name in written:
            if name not in _FIELDS:
                raise FieldError(f"{_AT}[{number}].{name}", "is no field of a constraint")


def _checked(models: tuple[SpreadModel, ...]) -> tuple[TopologySpread, ...]:
    seen: dict[tuple[str, str], int] = {}
    for number, model in enumerate(models):
        at = f"{_AT}[{number}]"
        check_key(model.topology_key, f"{at}.topologyKey")
        if model.label_selector is not None:
            raise FieldError(f"{at}.labelSelector", "must not be set: it is found for each pod")
        if model.match_label_keys:
            raise FieldError(f"{at}.matchLabelKeys", "must not be set: it has no effect")
        first = seen.setdefault((model.topology_key, model.when_unsatisfiable), number)
        if first != number:
            raise FieldError(at, f"has the topologyKey and whenUnsatisfiable of [{first}]")
    return spread(models, _AT)
