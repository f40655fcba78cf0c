"""Structural schemas of model types, as the API server demands them: types everywhere, no references.

They have no `nullable`: the API server drops a field that is null, and so does reading. Defaults do not come
from models, where a default means "left out". Defaults that the API server fills in are constraints.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import inspect

from treenail.adapters.api.metadata import ConditionModel, StrictObject
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.texts import text_of

# A JSON object.
Tree: TypeAlias = dict[str, Any]

QUANTITY: Final = r"^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,4}|[numkMGTPE]|[KMGTPE]i)?$"
LONGEST_QUANTITY: Final = 64
# More names of resources than any node has; the cost of a rule over them must have a bound.
MOST_RESOURCES: Final = 100

_INT32: Final = 2**31 - 1
_TOP: Final[Mapping[str, Tree]] = {
    "apiVersion": {"type": "string", "description": "The group and version of this representation."},
    "kind": {"type": "string", "description": "The kind of this object."},
    "metadata": {"type": "object"},
}


def schema_of(model: type[msgspec.Struct], status: type[msgspec.Struct]) -> Tree:
    """Return the schema of a whole object of `model`, whose status is as `status` says."""
    made = _of_struct(_struct(model))
    made["properties"] |= {**deepcopy(_TOP), "status": _of_struct(_struct(status))}
    return made


def _struct(model: type[msgspec.Struct]) -> inspect.StructType:
    kind = inspect.type_info(model)
    if not isinstance(kind, inspect.StructType):
        raise TypeError(f"{model} is no struct")
    return kind


def _of(kind: inspect.Type) -> Tree:
    match kind:
        case inspect.Metadata():
            return _of(kind.type)
        case inspect.UnionType():
            return _of_union(kind)
        case inspect.StructType():
            return _of_struct(kind)
        case inspect.VarTupleType():
            return _of_list(kind)
        case inspect.DictType():
            return _of_mapping(kind)
        case _:
            return _of_scalar(kind)


def _of_union(kind: inspect.UnionType) -> Tree:
    types = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
    if len(types) == 1:
        return _of(types[0])
    if any(isinstance(one, inspect.StrType) for one in types):
        return quantity()
    raise TypeError(f"no structural schema for {kind}")


def quantity() -> Tree:
    """Return the schema of a quantity that is not negative. A number with a fraction must be text."""
    return {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": QUANTITY,
        "maxLength": LONGEST_QUANTITY,
        "minimum": 0,
    }


def _of_struct(kind: inspect.StructType) -> Tree:
    made: Tree = {"type": "object"}
    text = text_of(kind.cls)
    if text:
        made["description"] = text
    required = sorted(f.encode_name for f in kind.fields if f.required)
    if required:
        made["required"] = required
    made["properties"] = {
        f.encode_name: _of(f.type) | _described(kind.cls, f.encode_name)
        for f in kind.fields
        if not issubclass(kind.cls, StrictObject) or f.encode_name == "spec"
    }
    return made


def _described(model: type, field: str) -> Tree:
    text = text_of(model, field)
    return {"description": text} if text else {}


def _of_list(kind: inspect.VarTupleType) -> Tree:
    item = kind.item_type
    made: Tree = {"type": "array", "items": _of(item)}
    if isinstance(item, inspect.StructType) and issubclass(item.cls, ConditionModel):
        made |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    else:
        made["x-kubernetes-list-type"] = "atomic"
    return made | _limits(minItems=kind.min_length, maxItems=kind.max_length)


def _of_mapping(kind: inspect.DictType) -> Tree:
    made: Tree = {"type": "object", "additionalProperties": _of(kind.value_type)}
    most = kind.max_length
    if isinstance(kind.key_type, inspect.LiteralType):
        names = sorted(str(one) for one in kind.key_type.values)
        made["x-kubernetes-validations"] = [
            {
                "rule": f"self.all(k, k in {cel.texts(names)})",
                "message": f"may only name {', '.join(names)}",
            }
        ]
        most = len(names)
    elif "x-kubernetes-int-or-string" in made["additionalProperties"]:
        most = MOST_RESOURCES
    return made | _limits(minProperties=kind.min_length, maxProperties=most)


def _of_scalar(kind: inspect.Type) -> Tree:
    match kind:
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.IntType():
            form = "int32" if kind.le is not None and kind.le <= _INT32 else "int64"
            return {"type": "integer", "format": form} | _limits(minimum=kind.ge, maximum=kind.le)
        case inspect.StrType():
            limits = _limits(minLength=kind.min_length, maxLength=kind.max_length, pattern=kind.pattern)
            return {"type": "string"} | limits
        case inspect.DateTimeType():
            return {"type": "string", "format": "date-time"}
        case inspect.LiteralType():
            return {"type": "string", "enum": list(kind.values)}
        case inspect.EnumType():
            return {"type": "string", "enum": [one.value for one in kind.cls]}
        case _:
            raise TypeError(f"no structural schema for {kind}")


def _limits(**limits: object) -> Tree:
    return {name: limit for name, limit in limits.items() if limit is not None}
