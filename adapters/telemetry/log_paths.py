"""Log paths: stdout, stderr and files that log lines go to, as `LOG_OUTPUT_PATHS` names them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOBase
from pathlib import Path
from typing import TextIO, cast


class LogStreams(TextIOBase):
    """Writes to several streams. What fails of one hides nothing from the others."""

    def __init__(self, streams: Sequence[TextIO]) -> None:
        super().__init__()
        self._streams = tuple(streams)

    def write(self, text: str, /) -> int:
        for stream in self._streams:
            with suppress(OSError, ValueError):
                stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self._streams:
            with suppress(OSError, ValueError):
                stream.flush()

    def close(self) -> None:
        for stream in self._streams:
            if stream not in (sys.stdout, sys.stderr):
                stream.close()
        super().close()


def open_log(paths: Sequence[str]) -> TextIO:
    """Return a stream to all of `paths`: "stdout", "stderr", or files, which are appended to.

    Raises:
        OSError: a file cannot be written to.
    """
    standard = {"stdout": sys.stdout, "stderr": sys.stderr}
    # They stay open for as long as the process lives.
    streams = [standard.get(path) or Path(path).open("a", encoding="utf-8") for path in paths]  # noqa: SIM115
    return streams[0] if len(streams) == 1 else cast("TextIO", LogStreams(streams))
