from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.adapters.api.schema.refused import REFUSED
from tests.adapters.cli.command import treenail
from treenail.adapters.api.schema.catalogue import DEFINITIONS


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_the_api_server_must_refuse_is_refused_by_simulate_in_one_line(
    case: str, tmp_path: Path
) -> None:
    tree, field, says, reads = REFUSED[case]
    file = tmp_path / "bad.yaml"
    file.write_text(json.dumps(tree))

    ran = treenail("simulate", "-f", str(file))

    (line,) = ran.err.splitlines()
    told = re.fullmatch(rf"treenail: {re.escape(str(file))}: (\S+) default: (\S+): (.+)", line)
    assert told is not None, line
    kind, read, problem = told.groups()
    assert (ran.code, ran.out, kind) == (2, "", tree["kind"])
    # One may name an item or entry where the other names what it stands in.
    one, other = sorted((plain(read), plain(field)), key=len)
    assert other.startswith(one)
    assert (reads or says) in problem


def plain(path: str) -> str:
    """Write "a[b.c]" as "a.b.c", and leave "a[0]"."""
    return re.sub(r"\[(\D[^]]*)\]", r".\1", path)


def test_objects_of_every_kind_and_version_are_refused() -> None:
    refused = [(tree["apiVersion"], tree["kind"]) for tree, *_ in REFUSED.values()]

    assert set(refused) == {(f"{d.group}/{v.name}", d.kind) for d in DEFINITIONS for v in d.versions}
    assert len(refused) >= 120
    assert all(one.says for one in REFUSED.values())
