"""Differences between a tree of plain values and a typed model, in words for people."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, Final

from msgspec import inspect

from treenail.adapters.api.errors import FieldError, UnknownFieldError

_LONGEST_QUOTE: Final = 80
# Names that begin with a word as long as this are what it was meant to be, however much longer they are.
_LONG: Final = 12
_PLAIN_KEY: Final = re.compile(r"\w[\w-]*")


def quoted(value: object) -> str:
    """Return `value` as JSON, or the name of its type if JSON cannot write it; long values are cut."""
    if isinstance(value, set | bytes | date):
        return _called(value)
    text = json.dumps(value, ensure_ascii=False, default=_called)
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "..."


def under(path: str, key: str) -> str:
    """Return the path of the value under `key` at `path`."""
    if not path:
        return key
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{key}]"


def meant(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean X?" for the one of `known` that begins with `word` or is close to it."""
    by_folded = {name.lower(): name for name in sorted(known)}
    folded = word.lower()
    begun = [name for name in by_folded if len(word) >= _LONG and name.startswith(folded)]
    close = begun or difflib.get_close_matches(folded, by_folded, n=1, cutoff=0.7)
    return f"; did you mean {by_folded[close[0]]}?" if close else ""


def first_problem(tree: object, model: type) -> FieldError | None:
    """Return the first departure of `tree` from `model`, in the order of the tree; None if there is none."""
    return _of(inspect.type_info(model), tree, "")


def _of(kind: inspect.Type, value: Any, path: str) -> FieldError | None:  # noqa: ANN401
    match kind:
        case inspect.Metadata():
            problem = _of(kind.type, value, path)
            wanted = (kind.extra or {}).get("wanted")
            if problem and problem.field == path and wanted and isinstance(value, str):
                return FieldError(path, f"{quoted(value)} is not {wanted}")
            return problem
        case inspect.UnionType():
            return _of_union(kind, value, path)
        case inspect.StructType():
            return _of_struct(kind, value, path)
        case inspect.VarTupleType():
            return _of_list(kind, value, path)
        case inspect.DictType():
            return _of_mapping(kind, value, path)
        case inspect.LiteralType() | inspect.EnumType():
            return _of_choice(kind, value, path)
        case _:
            return _of_scalar(kind, value, path)


def _of_union(kind: inspect.UnionType, value: Any, path: str) -> FieldError | None:  # noqa: ANN401
    problems = [_of(one, value, path) for one in kind.types if not isinstance(one, inspect.NoneType)]
    if any(problem is None for problem in problems):
        return None
    return problems[0] if len(problems) == 1 else _mistyped(kind, value, path)


# Fields of a NodePool of v1beta1, which v1 has elsewhere.
_MOVED: Final = {
    "spec.template.spec.kubelet": ": v1 has it as spec.kubelet of the EC2NodeClass",
    "spec.disruption.expireAfter": ": v1 has it as spec.template.spec.expireAfter",
}


def _of_struct(kind: inspect.StructType, value: Any, path: str) -> FieldError | None:  # noqa: ANN401
    if not isinstance(value, dict):
        return _mistyped(kind, value, path)
    fields = {f.encode_name: f for f in kind.fields}
    for key, below in value.items():
        if key in fields:
            problem = _of(fields[key].type, below, under(path, key))
        elif kind.forbid_unknown_fields:
            found = under(path, key)
            near = _MOVED.get(found) or meant(key, fields)
            problem = UnknownFieldError(found, f"is not a known field{near}")
        else:
            problem = None
        if problem:
            return problem
    missing = next((name for name, f in fields.items() if f.required and name not in value), None)
    return FieldError(under(path, missing), "is missing") if missing else None


def _of_list(kind: inspect.VarTupleType, value: Any, path: str) -> FieldError | None:  # noqa: ANN401
    if not isinstance(value, list):
        return _mistyped(kind, value, path)
    if len(value) < (kind.min_length or 0):
        return FieldError(path, f"needs at least {kind.min_length} item(s)")
    if kind.max_length is not None and len(value) > kind.max_length:
        return FieldError(path, f"has {len(value)} items, {kind.max_length} at most are allowed")
    found = (_of(kind.item_type, item, f"{path}[{n}]") for n, item in enumerate(value))
    return next((problem for problem in found if problem), None)


def _of_mapping(kind: inspect.DictType, value: Any, path: str) -> FieldError | None:  # noqa: ANN401
    if not isinstance(value, dict):
        return _mistyped(kind, value, path)
    if kind.max_length is not None and len(value) > kind.max_length:
        return FieldError(path, f"has {len(value)} entries, {kind.max_length} at most are allowed")
    for key, below in value.items():
        problem = _of_choice_of_key(kind.key_type, key, path) or _of(kind.value_type, below, under(path, key))
        if problem:
            return problem
    return None


def _of_choice_of_key(kind: inspect.Type, key: str, path: str) -> FieldError | None:
    if isinstance(kind, inspect.LiteralType) and key not in kind.values:
        known = [str(v) for v in kind.values]
        return FieldError(under(path, key), f"is not one of {', '.join(known)}{meant(key, known)}")
    return None


def _of_choice(
    kind: inspect.LiteralType | inspect.EnumType,
    value: Any,  # noqa: ANN401
    path: str,
) -> FieldError | None:
    known = kind.values if isinstance(kind, inspect.LiteralType) else tuple(one.value for one in kind.cls)
    if not isinstance(value, str):
        return FieldError(path, f"expected text, got {_called(value)}")
    if value in known:
        return None
    names = [str(one) for one in known]
    return FieldError(path, f"{quoted(value)} is not one of {', '.join(names)}{meant(value, names)}")


def _of_scalar(kind: inspect.Type, value: Any, path: str) -> FieldError | None:  # noqa: ANN401
    match kind:
        case inspect.AnyType() | inspect.RawType():
            return None
        case inspect.BoolType():
            return None if isinstance(value, bool) else _mistyped(kind, value, path)
        case inspect.IntType():
            return _of_integer(kind, value, path)
        case inspect.FloatType():
            return _of_number(kind, value, path)
        case inspect.DateTimeType():
            return _of_time(value, path)
        case inspect.StrType():
            return _of_text(kind, value, path)
        case _:
            return _mistyped(kind, value, path)


def _of_integer(kind: inspect.IntType, value: Any, path: str) -> FieldError | None:  # noqa: ANN401
    if not isinstance(value, int) or isinstance(value, bool):
        return _mistyped(kind, value, path)
    low, high = kind.ge, kind.le
    if low == 0 and value < 0:
        return FieldError(path, f"{value} must not be negative")
    if low is not None and high is not None and not low <= value <= high:
        return FieldError(path, f"{value} is not between {low} and {high}")
    return None


def _of_number(kind: inspect.FloatType, value: Any, path: str) -> FieldError | None:  # noqa: ANN401
    if not isinstance(value, int | float) or isinstance(value, bool):
        return _mistyped(kind, value, path)
    if kind.gt is not None and not value > kind.gt:
        return FieldError(path, f"{value} is not above {kind.gt:g}")
    if kind.le is not None and value > kind.le:
        return FieldError(path, f"{value} is more than {kind.le:,.0f}")
    return None


def _of_text(kind: inspect.StrType, value: Any, path: str) -> FieldError | None:  # noqa: ANN401
    if not isinstance(value, str):
        return _mistyped(kind, value, path)
    if len(value) < (kind.min_length or 0):
        return FieldError(path, "must not be empty")
    if kind.max_length is not None and len(value) > kind.max_length:
        return FieldError(path, f"{quoted(value)} is longer than {kind.max_length} characters")
    if kind.pattern is not None and re.search(kind.pattern, value) is None:
        return FieldError(path, f"{quoted(value)} does not match {kind.pattern}")
    return None


def _of_time(value: Any, path: str) -> FieldError | None:  # noqa: ANN401
    try:
        aware = datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        aware = False
    return (
        None if aware else FieldError(path, f"{quoted(value)} is not a time (such as 2026-05-01T12:00:00Z)")
    )


def _mistyped(kind: inspect.Type, value: object, path: str) -> FieldError:
    hint = (
        " (put it in quotes)"
        if _wants_text_only(kind) and not isinstance(value, dict | list | set | bytes)
        else ""
    )
    return FieldError(path, f"expected {_wanted(kind)}, got {_called(value)}{hint}")


def _wants_text_only(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.UnionType):
        kinds = {type(one) for one in kind.types}
        return inspect.StrType in kinds and inspect.FloatType not in kinds
    return isinstance(kind, inspect.StrType)


_NAMES: Final[tuple[tuple[type, str], ...]] = (
    (inspect.StructType, "a mapping"),
    (inspect.DictType, "a mapping"),
    (inspect.VarTupleType, "a list"),
    (inspect.BoolType, "true or false"),
    (inspect.IntType, "a whole number"),
    (inspect.FloatType, "a number"),
)


def _wanted(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.Metadata):
        return _wanted(kind.type)
    if isinstance(kind, inspect.UnionType):
        if any(isinstance(one, inspect.FloatType) for one in kind.types):
            return "a quantity"
        return " or ".join(_wanted(one) for one in kind.types if not isinstance(one, inspect.NoneType))
    return next((name for one, name in _NAMES if isinstance(kind, one)), "text")


def _called(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case set():
            return "a set"
        case bytes():
            return "binary data"
        case date():
            return f"the time {value.isoformat()}"
        case str():
            return f"text {quoted(value)}"
        case _:
            return f"the number {value}"
