"""Log lines as JSON, one object a line, shaped as Karpenter's are: level, time, logger, message, fields."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import MutableMapping
from datetime import UTC, datetime
from traceback import format_exception
from typing import Any, Final, TextIO

import structlog

from treenail.domain.model.runtime import Clock

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class StructuredLog:
    """Writes log lines at or above a level. Threads may share it; it never raises.

    Of structlog it takes the processor chain, the filter and the locked writer; nothing is configured for
    the whole process, so that two systems in one process log apart.
    """

    def __init__(self, stream: TextIO, clock: Clock, *, level: str = "info") -> None:
        """Write to `stream`.

        Raises:
            KeyError: `level` is none of `LEVELS`.
        """
        self.clock = clock
        self._writer = structlog.WriteLogger(stream)
        self._logger = self._from(level)

    def set_level(self, level: str) -> None:
        """Write lines at or above another level from now on.

        Raises:
            KeyError: `level` is none of `LEVELS`.
        """
        self._logger = self._from(level)

    def _from(self, level: str) -> Any:  # noqa: ANN401 (structlog makes its class)
        return structlog.wrap_logger(
            self._writer,
            processors=[self._in_order, structlog.processors.JSONRenderer(serializer=_serialize)],
            wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        )

    def write(self, message: str, fields: dict[str, object]) -> None:
        """Write a line.

        Of `fields`, `level` is one of `LEVELS` (info where it is none) and `logger` names who writes.
        An exception among them is written with its stack beside it.
        """
        level = str(fields.get("level", "info")).lower()
        # A full disk or a closed pipe is no reason to stop, and there is nobody left to tell.
        with contextlib.suppress(OSError, ValueError):
            self._logger.log(LEVELS.get(level, logging.INFO), message, fields=fields)

    def _in_order(
        self, logger: object, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        del logger
        fields: dict[str, object] = event["fields"]
        line: dict[str, Any] = {
            "level": method.upper(),
            "time": _stamp(self.clock.now()),
            "logger": str(fields.get("logger", "treenail")),
            "message": event["event"],
        }
        for name, value in fields.items():
            # A field cannot stand in for one of the four that every line has.
            if name in line or name == "level":
                continue
            line[name] = value
            if isinstance(value, BaseException):
                line["stacktrace"] = "".join(format_exception(value))
        return line


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _serialize(line: MutableMapping[str, Any], **_options: object) -> str:
    return json.dumps(line, default=_text, skipkeys=True)


def _text(value: object) -> str:
    match value:
        case datetime():
            return _stamp(value)
        case BaseException():
            return f"{type(value).__name__}: {value}"
        case _:
            return str(value)
