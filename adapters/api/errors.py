"""Errors in manifests, each said in one line."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.domain.model.events import ObjectRef


class FieldError(Exception):
    """A field of an object says something it must not. `field` is its path ("spec.limits.cpu")."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(field, problem)

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}" if self.field else self.problem


class UnknownFieldError(FieldError):
    """An object has a field that we do not know."""


class OverLimitError(FieldError):
    """A request is above its limit."""


class ManifestError(Exception):
    """A manifest that cannot be used: in which file, which object, which field, and what is wrong.

    `object` reads "Provisioner default"; it and `field` are empty where a whole file is meant, and
    `about` is None there. `api_version` is that of the object. `others` are the errors found beside this
    first one.
    """

    def __init__(
        self,
        file: str,
        object: str,  # noqa: A002
        field: str,
        problem: str,
        *,
        about: ObjectRef | None = None,
        api_version: str = "",
    ) -> None:
        self.file = file
        self.object = object
        self.field = field
        self.problem = problem
        self.about = about
        self.api_version = api_version
        self.others: tuple[ManifestError, ...] = ()
        super().__init__(file, object, field, problem)

    def __str__(self) -> str:
        """Return one line: `001.yaml: Provisioner default: spec.limits.resources.cpu: "-5" must not...`."""
        parts = (self.file, self.object, self.field, self.problem)
        line = " ".join(": ".join(part for part in parts if part).split())
        return "".join(one if one.isprintable() else repr(one)[1:-1] for one in line)


def first_of(errors: Sequence[ManifestError]) -> ManifestError:
    """Return the first of several errors, at least one, with the others beside it."""
    first, *others = errors
    first.others = (*first.others, *(one for other in others for one in (other, *other.others)))
    return first
