"""Dataclasses that refuse a field they do not have with the name of the nearest one."""

from __future__ import annotations

from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

from treenail.adapters.api.diagnosis import meant

C = TypeVar("C", bound=type)


def named_fields(of: C) -> C:
    """Have a dataclass whose fields are given by name say, in its TypeError, which one may be meant."""
    known = [field.name for field in fields(of) if field.init]
    # mypy has no type for the `__init__` of a class that is not known.
    make: Any = of.__init__  # type: ignore[misc]

    @wraps(make)
    def init(self: object, *args: Any, **named: Any) -> None:  # noqa: ANN401
        for name in named:
            if name not in known:
                hint = meant(name, known) or f": it has {', '.join(known)}"
                raise TypeError(f"{of.__name__} has no field {name}{hint}")
        make(self, *args, **named)

    of.__init__ = init  # type: ignore[misc]
    return of
