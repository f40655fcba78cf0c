"""The advice for what a problem's plan refuses."""

from __future__ import annotations

from treenail.domain.packing.advice.advice import Effort, with_remedies
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import RefusedClass
from treenail.domain.packing.problem import Problem


def advised(of: Problem, effort: Effort | None = None) -> tuple[RefusedClass, ...]:
    return with_remedies(of, pack(of), pack, effort or Effort()).refused
