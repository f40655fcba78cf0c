"""Annotations for fields that the version an object is stored in does not have."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from treenail.adapters.api.conversion.trees import Tree
from treenail.adapters.api.errors import FieldError

# Karpenter's own, by the names it gave them: objects that it stored are understood, and it understands ours.
KUBELET: Final = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
NODE_CLASS_REFERENCE: Final = "compatibility.karpenter.sh/v1beta1-nodeclass-reference"
UBUNTU: Final = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu"

# Ours, on an object of v1beta1 and on one of v1: what only the other version can say.
V1_FIELDS: Final = "treenail.sh/v1-fields"
V1BETA1_FIELDS: Final = "treenail.sh/v1beta1-fields"


def annotate(document: Tree, key: str, value: object) -> None:
    """Write `value` as JSON under the annotation `key`."""
    annotate_by_text(document, key, text_of(value))


def annotate_by_text(document: Tree, key: str, text: str) -> None:
    """Write `text` under the annotation `key`."""
    metadata = document.get("metadata") or {}
    document["metadata"] = {**metadata, "annotations": {**(metadata.get("annotations") or {}), key: text}}


def text_of(value: object) -> str:
    """Return `value` as JSON whose text depends on nothing but the value."""
    return msgspec.json.encode(value, order="sorted").decode()


def annotated(document: Tree, key: str) -> str | None:
    """Return the text of the annotation `key`, None where there is none."""
    found = ((document.get("metadata") or {}).get("annotations") or {}).get(key)
    return found if isinstance(found, str) else None


def taken(document: Tree, key: str) -> str | None:
    """Take the annotation `key` off and return its text; annotations that are empty then go too."""
    text = annotated(document, key)
    if text is not None:
        annotations = document["metadata"]["annotations"]
        del annotations[key]
        if not annotations:
            del document["metadata"]["annotations"]
    return text


def mapping_in(text: str, key: str) -> Tree:
    """Return the mapping that the annotation `key` holds as JSON; FieldError if it holds none."""
    made = _json_in(text, key)
    if not isinstance(made, dict):
        raise FieldError(f"metadata.annotations[{key}]", "must be a mapping in JSON")
    return made


def list_in(text: str, key: str) -> list[Any]:
    """Return the list that the annotation `key` holds as JSON; FieldError if it holds none."""
    made = _json_in(text, key)
    if not isinstance(made, list):
        raise FieldError(f"metadata.annotations[{key}]", "must be a list in JSON")
    return made


def _json_in(text: str, key: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise FieldError(f"metadata.annotations[{key}]", "is not JSON") from None
