"""A census of what the controller keeps: the entries of every container that its actors reach."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator

from pykka import ThreadingActor

from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.packing.identity import IdentityMap

# Time is the world's: its timers belong to the fakes as well.
NOT_OURS = ("World",)
# What the controller is made of. The fakes beside it remember all that ever happened, as tests want it.
OURS = ("treenail.actors", "treenail.domain")


def entries(rehearsal: Rehearsal) -> Counter[str]:
    """Return how many entries there are, by the class and attribute that hold them.

    Containers within containers count for the attribute that leads to them. Caches of functions count too.
    What is in values that never change does not: they are as large as what they are read from.
    """
    found: Counter[str] = Counter()
    seen: set[int] = set()
    waiting: deque[tuple[str, object]] = deque([("System", rehearsal.system), ("Process", rehearsal.process)])
    waiting.extend(_module_state())
    while waiting:
        name, thing = waiting.popleft()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, IdentityMap):
            # Who has it is what grows.
            found[name] += len(thing)
            waiting.extend((name, item) for item in thing.values())
        elif isinstance(thing, dict | list | set | deque | frozenset | tuple):
            found[name] += len(thing)
            waiting.extend((name, item) for item in _items(thing))
        elif _is_ours(thing):
            waiting.extend((f"{type(thing).__name__}.{at}", value) for at, value in _attributes(thing))
    found += _cached_calls()
    return found


def _is_ours(thing: object) -> bool:
    kind = type(thing)
    frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    ours = kind.__module__.startswith(OURS) and kind.__name__ not in NOT_OURS
    return ours and not frozen and not isinstance(thing, type)


def _items(container: Iterable[object]) -> Iterator[object]:
    if isinstance(container, dict):
        yield from container.values()
    yield from container


def _attributes(thing: object) -> Iterator[tuple[str, object]]:
    if not isinstance(thing, ThreadingActor | type):
        for kind in type(thing).__mro__:
            for slot in getattr(kind, "__slots__", ()):
                if hasattr(thing, slot):
                    yield slot, getattr(thing, slot)
    yield from getattr(thing, "__dict__", {}).items()


def _modules() -> list[object]:
    return [module for name, module in sorted(sys.modules.items()) if name.startswith(OURS)]


def _module_state() -> Iterator[tuple[str, object]]:
    for module in _modules():
        for name, value in sorted(vars(module).items()):
            if isinstance(value, dict | list | set | deque) and not name.startswith("__"):
                yield f"{getattr(module, '__name__', '')}.{name}", value


def _cached_calls() -> Counter[str]:
    found: Counter[str] = Counter()
    for module in _modules():
        for name, value in sorted(vars(module).items()):
            if hasattr(value, "cache_info"):
                found[f"{getattr(value, '__module__', '')}.{name}()"] = value.cache_info().currsize
    return found
