from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TextIO, cast

import pytest

from treenail.adapters.telemetry.log_paths import LogStreams, open_log


class Broken(io.StringIO):
    """A stream whose disk is full."""

    def write(self, _: str, /) -> int:
        raise OSError("no space left on device")


def test_lines_go_to_each_of_the_paths_and_files_are_appended_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "log"
    file.write_text("before\n")

    stream = open_log(("stdout", str(file), "stderr"))
    stream.write("hello\n")
    stream.flush()
    stream.close()

    assert capsys.readouterr() == ("hello\n", "hello\n")
    assert file.read_text() == "before\nhello\n"


def test_a_single_path_is_that_stream_itself() -> None:
    assert open_log(("stdout",)) is sys.stdout


def test_what_fails_of_one_hides_nothing_from_the_others() -> None:
    well = io.StringIO()

    both = LogStreams([cast("TextIO", Broken()), well])
    both.write("hello")

    assert well.getvalue() == "hello"


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        open_log((str(tmp_path / "nowhere" / "log"),))
