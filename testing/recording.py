"""A rehearsal's recording: seed, conditions and inputs as JSON, and the timeline they led to.

Done again, by another version of Treenail or of Python, it leads to the same timeline, or the two differ.
"""

from __future__ import annotations

import platform
import sys
import warnings
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from treenail import __version__
from treenail.adapters.embed import Conditions
from treenail.adapters.fake.cluster import ClusterFaults
from treenail.adapters.fake.ec2 import EC2Faults, EC2Settings
from treenail.domain.model.errors import PortError
from treenail.testing.golden import difference, timeline_text
from treenail.testing.inputs import RECORDED, Input
from treenail.testing.manifest_warnings import ManifestWarning
from treenail.testing.rehearsal import Rehearsal

FORMAT: Final = 1
# Of the conditions, what is plain numbers; all else must be given anew where it was not as by default.
_PLAIN: Final[dict[str, Any]] = {
    "cluster_faults": ClusterFaults,
    "ec2": EC2Settings,
    "ec2_faults": EC2Faults,
    "zonal_shifts": bool,
    "settings": dict[str, str],
    "start": datetime | None,
    "untainted_after": float | None,
}
# Those that recordings of older versions do not name.
_NEWER: Final = ("settings", "start", "untainted_after")
_FAULTS: Final[dict[str, type]] = {kind.__name__: kind for kind in (ClusterFaults, EC2Faults)}
# The one input that is given a class: that of a message.
_TAKES_CLASS: Final = "crash_at"
_OTHERS: Final = (
    "system",
    "cluster",
    "catalogue",
    "prices",
    "cloud",
    "zones",
    "account",
    "snapshot",
    "actor",
)


class RecordingError(Exception):
    """Something cannot be recorded, or a recording cannot be read or repeated."""


class _WrittenInput(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An input as a file has it."""

    at: float
    step: int
    call: str
    args: list[Any]
    kwargs: dict[str, Any]
    raised: bool


class _Written(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A recording as its file has it."""

    format: int
    treenail: str
    python: str
    seed: int
    conditions: dict[str, Any]
    own: list[str]
    inputs: list[_WrittenInput]
    seconds: float
    steps: int
    timeline: str


class Replay:
    """A recording that was done again: the rehearsal, as it is now, and how its timeline differs."""

    def __init__(self, rehearsal: Rehearsal, expected: str) -> None:
        self.rehearsal = rehearsal
        self._expected = expected

    @property
    def difference(self) -> str:
        """The unified diff from the recorded timeline to this one; "" where they are equal."""
        now = timeline_text(self.rehearsal)
        return difference(self._expected, now, before="recorded", after="replayed")

    def check(self) -> None:
        """Raise AssertionError with the difference if there is one."""
        if self.difference:
            raise AssertionError(self.difference)


def record(rehearsal: Rehearsal, path: str | Path) -> None:
    """Write what was done to a rehearsal, and its timeline, to a file.

    Raises:
        RecordingError: something that was done has no form in JSON; it is named.
    """
    conditions, default = rehearsal.given, Conditions()
    own = [name for name in _OTHERS if getattr(conditions, name) != getattr(default, name)]
    written = _Written(
        format=FORMAT,
        treenail=__version__,
        python=platform.python_version(),
        seed=rehearsal.seed,
        conditions={name: msgspec.to_builtins(getattr(conditions, name)) for name in _PLAIN},
        own=own,
        inputs=[_write(one) for one in rehearsal.inputs],
        seconds=rehearsal.seconds,
        steps=rehearsal.stepped,
        timeline=timeline_text(rehearsal),
    )
    text = msgspec.json.format(msgspec.json.encode(written), indent=1)
    Path(path).write_bytes(text + b"\n")


def replay(path: str | Path, *, conditions: Conditions | None = None) -> Replay:
    """Do what a file recorded again, with the same seed.

    `conditions` are for those that no file can hold, and for trying others: what they say in place of a
    default counts before the file, and the difference shows what that changes.

    Raises:
        RecordingError: the file is no recording, is of another format, or lacks conditions; they are named.
        OSError: the file cannot be read.
    """
    try:
        written = msgspec.json.decode(Path(path).read_bytes(), type=_Written)
    except msgspec.DecodeError as error:
        raise RecordingError(f"{path}: {error}") from None
    if written.format != FORMAT:
        raise RecordingError(f"{path}: is of format {written.format}, and {FORMAT} is known")
    if written.own and conditions is None:
        own = ", ".join(written.own)
        raise RecordingError(f"{path}: was recorded with conditions of its own, which must be given: {own}")
    told = written.conditions
    try:
        there = {name: kind for name, kind in _PLAIN.items() if name in told or name not in _NEWER}
        plain: dict[str, Any] = {name: msgspec.convert(told[name], kind) for name, kind in there.items()}
        inputs = [_read(one, path) for one in written.inputs]
    except (KeyError, msgspec.ValidationError) as error:
        raise RecordingError(f"{path}: {error}") from None
    given, default = conditions or Conditions(), Conditions()
    kept = {name: value for name, value in plain.items() if getattr(given, name) == getattr(default, name)}
    with warnings.catch_warnings():
        # What was repeated has warned of its snapshot when it was recorded.
        warnings.simplefilter("ignore", ManifestWarning)
        rehearsal = Rehearsal(seed=written.seed, conditions=replace(given, **kept))
    rehearsal.repeat(inputs, until=written.seconds, steps=written.steps)
    return Replay(rehearsal, written.timeline)


def _write(one: Input) -> _WrittenInput:
    as_file = one.call == "apply_file"
    return _WrittenInput(
        at=one.at,
        step=one.step,
        call=one.call,
        args=[_plain(Path(value) if as_file else value, one) for value in one.args],
        kwargs={name: _plain(Path(value) if as_file else value, one) for name, value in one.kwargs.items()},
        raised=one.raised,
    )


def _plain(value: object, of: Input) -> object:
    """Return a value as JSON has it; what is no plain one is an object that says what it is."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Path() if value.is_file():
            return {"file": str(value), "text": value.read_text(encoding="utf-8")}
        case ClusterFaults() | EC2Faults():
            return {"faults": type(value).__name__, "values": msgspec.to_builtins(value)}
        case PortError():
            return {"error": _name(type(value)), "text": str(value)}
        case type() if of.call == _TAKES_CLASS:
            return {"class": _name(value)}
        case _:
            raise RecordingError(f"{of.call} at {of.at:.3f} s: {value!r} cannot be recorded")


def _name(of: type) -> str:
    return f"{of.__module__}:{of.__qualname__}"


def _read(one: _WrittenInput, path: str | Path) -> Input:
    if one.call not in RECORDED:
        raise RecordingError(f"{path}: {one.call} is no input of a rehearsal")
    given = (*one.args, *one.kwargs.values())
    # Elsewhere a class would be called, as `where` of `fail` is.
    if one.call != _TAKES_CLASS and any(isinstance(value, dict) and "class" in value for value in given):
        raise RecordingError(f"{path}: {one.call} takes no class")
    args = tuple(_value(value, path) for value in one.args)
    kwargs = {name: _value(value, path) for name, value in one.kwargs.items()}
    return Input(one.at, one.step, one.call, args, kwargs, one.raised)


def _value(value: object, path: str | Path) -> object:
    match value:
        case {"file": str(file), "text": str(text)}:
            if not Path(file).is_file() or Path(file).read_text(encoding="utf-8") != text:
                raise RecordingError(f"{path}: {file} is not what it was when it was applied")
            return Path(file)
        case {"faults": str(kind), "values": values}:
            return msgspec.convert(values, _FAULTS[kind])
        case {"error": str(name), "text": text}:
            return _class(name, path, PortError)(text)
        case {"class": str(name)}:
            return _class(name, path)
        case _:
            return value


def _class(name: str, path: str | Path, of: type = object) -> Any:  # noqa: ANN401
    """Return a class `of` some kind that is imported already: a file imports nothing."""
    module, _, qualified = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not issubclass(found, of):
        raise RecordingError(f"{path}: there is no such class {name}; import its module first")
    return found
