"""The advice for what a problem's plan refuses."""

from __future__ import annotations

from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.remedies.advice import Effort, with_remedies


def advised(of: Problem, effort: Effort | None = None) -> tuple[RefusedClass, ...]:
    return with_remedies(of, pack(of), pack, effort or Effort()).refused
