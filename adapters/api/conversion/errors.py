"""The error of a conversion that is not possible."""

from __future__ import annotations


class ConversionError(Exception):
    """An object cannot be converted. `object` reads "NodePool default"; `field` is a path, or "".

    Where several are converted, `source` is its place among them.
    """

    def __init__(
        self,
        object: str,  # noqa: A002
        field: str,
        problem: str,
        *,
        source: int | None = None,
    ) -> None:
        self.source = source
        self.object = object
        self.field = field
        self.problem = problem
        super().__init__(object, field, problem)

    def __str__(self) -> str:
        """Return one line: `NodePool default: spec.template: must be a mapping`."""
        return ": ".join(part for part in (self.object, self.field, self.problem) if part)
