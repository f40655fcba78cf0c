"""The base of the typed models of API objects, and the function that reads one.

A model states the rules that a schema can state. The translation to the domain checks the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec

from treenail.adapters.api.diagnosis import first_problem
from treenail.adapters.api.errors import FieldError

Content: TypeAlias = "bytes | Mapping[str, object]"

# What `extra` of a field's Meta calls its values: "a duration (such as ...)". For messages.
WANTED: Final = "wanted"

Quantity: TypeAlias = str | int | float
Quantities: TypeAlias = dict[str, Quantity]
# Of our own kinds: what is defined as text or number there may have no fraction unless it is text.
PlainQuantity: TypeAlias = str | int
PlainQuantities: TypeAlias = dict[str, PlainQuantity]
Time: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
Percent: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=100)]
NotNegative: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
NotEmpty: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
Port: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=65535)]


class Model(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A model of an object of which we read only some fields: others are ignored."""


class StrictModel(Model, forbid_unknown_fields=True):
    """A model of an object whose every field we know: others are errors."""


M = TypeVar("M", bound=Model)


def prepare(model: type[Model]) -> None:
    """Make ready to read `model`: call it for each at import, on one thread.

    msgspec works out what it knows of a class, and of those within it, when the class is first read, and
    another thread that meets the half-made description crashes the interpreter.
    """
    _decoder(model)


@cache
def _decoder(model: type[M]) -> msgspec.json.Decoder[M]:
    return msgspec.json.Decoder(model)


def read(model: type[M], content: Content) -> M:
    """Read JSON text, or a mapping read from YAML, as `model`.

    As for the API server, a field that is null is one that is not there.

    Raises:
        FieldError: the content is not of this model.
    """
    try:
        return (
            _decoder(model).decode(content) if isinstance(content, bytes) else msgspec.convert(content, model)
        )
    except msgspec.ValidationError:
        tree = without_nulls(msgspec.json.decode(content) if isinstance(content, bytes) else content)
    try:
        return msgspec.convert(tree, model)
    except msgspec.ValidationError as error:
        raise first_problem(tree, model) or FieldError("", str(error)) from None


def without_nulls(tree: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a tree less the fields that are null."""
    match tree:
        case dict():
            return {key: without_nulls(value) for key, value in tree.items() if value is not None}
        case list():
            return [without_nulls(value) for value in tree]
        case _:
            return tree
