"""Answers to ConversionReviews of the API server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from treenail.adapters.api.conversion import ConversionError, converted
from treenail.adapters.api.diagnosis import quoted

_API_VERSION: Final = "apiextensions.k8s.io/v1"
_KIND: Final = "ConversionReview"

Tree: TypeAlias = dict[str, Any]


class NotAReviewError(Exception):
    """A request that is no ConversionReview. The text says what is wrong with it, and where."""


class _Request(msgspec.Struct, rename={"desired": "desiredAPIVersion"}):
    uid: str
    desired: str
    objects: list[Tree]


class _Review(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    request: _Request


_DECODER: Final = msgspec.json.Decoder(_Review)


def answer(body: bytes, defect: Callable[[Exception], None]) -> bytes:
    """Return the ConversionReview, as JSON, that answers the one in `body`.

    Where one object cannot be converted none is, and the result is a Failure whose message names the object
    and the field. `defect` gets unexpected exceptions: they too are that object's failure.

    Raises:
        NotAReviewError: `body` is no ConversionReview of apiextensions.k8s.io/v1 with a request.
    """
    request = _read(body)
    response: Tree = {"uid": request.uid, "result": {"status": "Success"}, "convertedObjects": []}
    try:
        response["convertedObjects"] = [_in_version(o, request.desired, defect) for o in request.objects]
    except ConversionError as error:
        response["result"] = {
            "status": "Failure",
            "reason": "Invalid",
            "code": 422,
            "message": str(error),
        }
    return msgspec.json.encode({"apiVersion": _API_VERSION, "kind": _KIND, "response": response})


def _read(body: bytes) -> _Request:
    try:
        review = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotAReviewError(f"this is no {_KIND}: {error}") from None
    if (review.api_version, review.kind) != (_API_VERSION, _KIND):
        raise NotAReviewError(
            f"this is no {_KIND} of {_API_VERSION}, but {quoted(review.kind)} of {quoted(review.api_version)}"
        )
    return review.request


def _in_version(thing: Tree, desired: str, defect: Callable[[Exception], None]) -> Tree:
    """Return `thing` in the version `desired`, such as "karpenter.sh/v1", or raise ConversionError."""
    try:
        made = converted(thing, desired.rpartition("/")[2])
    except ConversionError:
        raise
    except Exception as error:  # noqa: BLE001 - whoever reads one object shall not end all that is decided
        defect(error)
        raise ConversionError(_called(thing), "", f"a defect: {type(error).__name__}") from None
    if made["apiVersion"] != desired:
        raise ConversionError(_called(thing), "apiVersion", f"it is not of the group of {quoted(desired)}")
    return made


def _called(thing: Tree) -> str:
    metadata = thing.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else ""
    return f"{thing.get('kind')} {name or ''}".rstrip()
