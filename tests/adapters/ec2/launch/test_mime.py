from __future__ import annotations

import pytest

from tests.adapters.ec2.launch.readers import parts
from treenail.adapters.ec2.launch.mime import SHELL_SCRIPT, Part, joined, parts_of


@pytest.mark.parametrize("lines", [["--//"], ["--//0", "--//", "--//10"], [f"--//{n}" for n in range(12)]])
def test_no_line_of_a_part_ends_it(lines: list[str]) -> None:
    text = "#!/bin/bash\n: <<END\n" + "\n".join(lines) + "\nEND\n"

    assert parts(joined([Part.of(SHELL_SCRIPT, text), Part.of("text/plain", "x")])) == [
        ("text/x-shellscript", text),
        ("text/plain", "x\n"),
    ]


def test_parts_within_parts_are_taken_apart() -> None:
    inner = joined([Part.of("text/plain", "a"), Part.of("text/plain", "b")])
    outer = 'Content-Type: multipart/mixed; boundary="B"\n\n--B\n' + inner.partition("\n")[2] + "--B--\n"

    assert [part.text.strip() for part in parts_of(outer)] == ["a", "b"]


def test_a_part_that_is_not_in_the_encoding_it_names_is_an_error() -> None:
    text = "Content-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n###\n"

    with pytest.raises(ValueError, match="a part of its MIME is broken"):
        parts_of(text)


def test_what_is_encoded_stays_as_it_is() -> None:
    text = "Content-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\nZWNobyBoZWxsbwo=\n"

    [part] = parts_of(text)
    assert ("Content-Transfer-Encoding", "base64") in part.headers
    assert part.text == "ZWNobyBoZWxsbwo=\n"


def test_the_last_boundary_need_not_be_closed() -> None:
    text = (
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="BOUNDARY"\n\n'
        '--BOUNDARY\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n#!/bin/bash\necho 1\n\n'
        "--BOUNDARY\nContent-Type: application/node.eks.aws\n\nkind: NodeConfig\n"
    )

    assert [part.text.strip() for part in parts_of(text)] == ["#!/bin/bash\necho 1", "kind: NodeConfig"]
    assert joined(parts_of(text)) == joined(parts_of(text + "\n--BOUNDARY--\n"))


def test_parts_of_which_none_begins_are_an_error() -> None:
    with pytest.raises(ValueError, match="its MIME is broken"):
        parts_of('MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="BOUNDARY"\n\necho 1\n')
