"""The wire format of problems and plans between two processes: slices.

A slice is one pickle. Other threads may have to wait while it is written or read, so slices are small. All
slices of a problem share one memo, so that an object that many pods share is sent once. Instance types are
the same thousand in every problem: they are sent once, and then named by number.
"""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import chain, count, islice
from operator import attrgetter
from typing import IO, Any, Final, TypeAlias, TypeVar

from treenail.domain.model.instance_types import InstanceType
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import PoolOffer, Problem

T = TypeVar("T")

Question: TypeAlias = Problem | ConsolidationProblem

# What a process is sent that is to give up the problem it was written last.
GIVE_UP: Final = signal.SIGUSR1
_PROTOCOL: Final = 5
_SLICE: Final = 100


# What stands for the problem in what is to be consolidated, until it is read.
_NO_PROBLEM: Final = Problem(pods=())


@dataclass(frozen=True, slots=True)
class _Outline:
    """A problem without its many parts; None where its writer gave it up in the middle.

    `forget` are numbers of instance types that are not used any more. `around` is the consolidation problem
    that the problem is part of, if any.
    """

    problem: Problem | None
    forget: tuple[int, ...]
    around: ConsolidationProblem | None = None


class ProblemWriter:
    """A writer of problems to one stream, which one `ProblemReader` reads. Not for threads to share.

    It keeps the instance types of the last problem.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        # By identity: to compare types would take longer than to send them.
        self._numbers: dict[int, tuple[int, InstanceType]] = {}
        self._next = count()

    def write(self, question: Question, wanted: Callable[[], bool] = lambda: True) -> bool:
        """Write a problem, as long as it is `wanted`; return whether it was written to its end.

        Raises:
            OSError: the other end is closed.
        """
        around = question if isinstance(question, ConsolidationProblem) else None
        problem = question.problem if isinstance(question, ConsolidationProblem) else question
        candidates = around.candidates if around is not None else ()
        pickler = _pickler(self._stream, {InstanceType: self._name})
        fresh, forget = self._number(problem)
        # The types are written in any case: they are known to the reader from now on.
        _dump(((number, _TYPE_VALUES(one)) for number, one in fresh), pickler)
        for part in (problem.pods, problem.existing_nodes, problem.volumes.items(), candidates):
            _dump(part, pickler, wanted)
        whole = wanted()
        outline = replace(problem, pods=(), existing_nodes=(), volumes={}) if whole else None
        if around is not None:
            around = replace(around, problem=_NO_PROBLEM, candidates=())
        pickler.dump(_Outline(outline, forget, around))
        self._stream.flush()
        return whole

    def _number(self, problem: Problem) -> tuple[list[tuple[int, InstanceType]], tuple[int, ...]]:
        """Number the instance types of `problem`; return the new ones, and numbers past their use."""
        before, self._numbers = self._numbers, {}
        fresh: list[tuple[int, InstanceType]] = []
        for one in chain.from_iterable(offer.instance_types for offer in _all_offers(problem)):
            if id(one) in self._numbers:
                continue
            known = before.pop(id(one), None)
            if known is None:
                known = next(self._next), one
                fresh.append(known)
            self._numbers[id(one)] = known
        return fresh, tuple(number for number, _ in before.values())

    def _name(self, one: InstanceType) -> tuple[Callable[..., Any], tuple[int]]:
        return named_type, (self._numbers[id(one)][0],)


def _all_offers(problem: Problem) -> tuple[PoolOffer, ...]:
    return (*problem.offers, *problem.ordinary_offers)


class ProblemReader:
    """Reads the problems that a `ProblemWriter` writes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._types: dict[int, InstanceType] = {}
        self._catalogues: dict[tuple[int, ...], tuple[InstanceType, ...]] = {}

    def read(self) -> Question | None:
        """Return the next problem; None where it was given up while it was written.

        A catalogue that the last problem had, too, is the very tuple it was: packing knows it by that.

        Raises:
            EOFError: the writer is gone.
        """
        unpickler = _Unpickler(self._stream, self._types)
        self._types |= {number: _restore(InstanceType, values) for number, values in _load(unpickler)}
        pods, existing_nodes = tuple(_load(unpickler)), tuple(_load(unpickler))
        volumes, candidates = dict(_load(unpickler)), tuple(_load(unpickler))
        outline: _Outline = _load_one(unpickler)
        for number in outline.forget:
            del self._types[number]
        if outline.problem is None:
            return None
        offers = self._as_before(_all_offers(outline.problem))
        now = len(outline.problem.offers)
        problem = replace(
            outline.problem,
            pods=pods,
            existing_nodes=existing_nodes,
            volumes=volumes,
            offers=offers[:now],
            ordinary_offers=offers[now:],
        )
        if outline.around is None:
            return problem
        return replace(outline.around, problem=problem, candidates=candidates)

    def _as_before(self, offers: Iterable[PoolOffer]) -> tuple[PoolOffer, ...]:
        before, self._catalogues = self._catalogues, {}
        kept = []
        for offer in offers:
            key = tuple(map(id, offer.instance_types))
            known = self._catalogues.get(key) or before.get(key, offer.instance_types)
            self._catalogues[key] = known
            kept.append(replace(offer, instance_types=known))
        return tuple(kept)


@dataclass(frozen=True, slots=True)
class SolverFailure:
    """No plan: packing failed unexpectedly, as `trace` says."""

    trace: str


@dataclass(frozen=True, slots=True)
class SolverGaveUp:
    """No plan: it was cancelled."""


Plan: TypeAlias = PackingPlan | ConsolidationPlan
Answer: TypeAlias = Plan | SolverFailure | SolverGaveUp


def write_plan(answer: Answer, stream: IO[bytes]) -> None:
    """Write the answer to a problem.

    Raises:
        OSError: the other end is closed.
    """
    pickler = _pickler(stream)
    names = _MANY_PARTS.get(type(answer), ())
    pickler.dump(names)
    for name in names:
        part = getattr(answer, name)
        _dump(part.items() if isinstance(part, Mapping) else part, pickler)
    outline: Any = answer
    pickler.dump(replace(outline, **dict.fromkeys(names, ())) if names else outline)
    stream.flush()


def read_plan(stream: IO[bytes]) -> Answer:
    """Return the answer to a problem.

    Raises:
        EOFError: the writer is gone.
    """
    unpickler = pickle.Unpickler(stream)  # noqa: S301 (our own process wrote it)
    names: tuple[str, ...] = _load_one(unpickler)
    parts: dict[str, Any] = {name: tuple(_load(unpickler)) for name in names}
    outline: Any = _load_one(unpickler)
    if "nominations" in parts:
        parts["nominations"] = dict(parts["nominations"])
    answer: Answer = replace(outline, **parts) if names else outline
    return answer


# What a plan has many of, by its class.
_MANY_PARTS: Final[Mapping[type[Answer], tuple[str, ...]]] = {
    PackingPlan: ("claims", "nominations", "refused", "classes", "deferred"),
    ConsolidationPlan: ("moves", "staying"),
}


def _dump(part: Iterable[Any], pickler: pickle.Pickler, wanted: Callable[[], bool] = lambda: True) -> None:
    """Write `part` in slices, as long as it is wanted, and an empty one as its end."""
    rest = iter(part)
    while wanted() and (some := tuple(islice(rest, _SLICE))):
        pickler.dump(some)
    pickler.dump(())


def _load(unpickler: pickle.Unpickler) -> Iterator[Any]:
    """Read what `_dump` wrote."""
    while some := _load_one(unpickler):
        yield from some


def _load_one(unpickler: pickle.Unpickler) -> Any:  # noqa: ANN401
    try:
        return unpickler.load()
    except pickle.UnpicklingError as error:
        raise EOFError("the other process ended in the middle of a word") from error


# --- objects


class _Reducers(dict[type[Any], Callable[[Any], Any]]):
    """Reducers for pickling, by class. For dataclasses, those made here are five times as fast."""

    def __missing__(self, kind: type[Any]) -> Callable[[Any], Any]:
        if is_dataclass(kind):
            self[kind] = _reducer(kind)
        else:
            # To say "not here" for each of many times and enums would cost more than the rest.
            self[kind] = _by_name if issubclass(kind, type) else _as_it_does_itself
        return self[kind]


def _reducer(kind: type[Any]) -> Callable[[Any], Any]:
    values = _getter(kind)
    return lambda one: (_restore, (kind, values(one)))


def _by_name(one: type[Any]) -> str:
    return one.__qualname__


def _as_it_does_itself(one: object) -> Any:  # noqa: ANN401
    return one.__reduce_ex__(_PROTOCOL)


def _pickler(stream: IO[bytes], more: dict[type, Callable[[Any], Any]] | None = None) -> pickle.Pickler:
    pickler = pickle.Pickler(stream, protocol=_PROTOCOL)
    pickler.dispatch_table = _Reducers(more or {})
    return pickler


_NAMES: Final[dict[type[Any], tuple[str, ...]]] = {}


def _names(kind: type[Any]) -> tuple[str, ...]:
    if kind not in _NAMES:
        _NAMES[kind] = tuple(field.name for field in fields(kind))
    return _NAMES[kind]


def _getter(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    names = _names(kind)
    # Of a single name, attrgetter gives no tuple.
    return attrgetter(*names) if len(names) > 1 else lambda one: tuple(getattr(one, n) for n in names)


def _restore(kind: type[T], values: tuple[Any, ...]) -> T:
    """Make an object from the values of `_getter`, without its checks: they were made once."""
    made = object.__new__(kind)
    for name, value in zip(_names(kind), values, strict=True):
        object.__setattr__(made, name, value)
    return made


_TYPE_VALUES: Final = _getter(InstanceType)


class _Unpickler(pickle.Unpickler):
    """Reads the slices of one problem; instance types by number are looked up in `types`."""

    def __init__(self, stream: IO[bytes], types: dict[int, InstanceType]) -> None:
        super().__init__(stream)
        self._types = types

    def find_class(self, module: str, name: str, /) -> Any:  # noqa: ANN401
        """Find what a pickle names."""
        if (module, name) == (named_type.__module__, named_type.__name__):
            return self._types.__getitem__
        return super().find_class(module, name)


def named_type(number: int) -> InstanceType:
    """Stand for an instance type by its number: a reader of problems puts the type in its place."""
    raise LookupError(f"instance type {number} is known to the reader of a problem alone")
