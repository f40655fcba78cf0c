from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from tests.bench.real.__main__ import table, turns
from tests.bench.real.contest import Run, Shape
from tests.bench.real.contestants import Contestant
from tests.bench.real.host_speed import probe_ms
from tests.bench.real.process_state import process_state
from tests.bench.real.usage import usage

RUN = Run(
    controller="treenail",
    pods=5,
    seconds=2.0,
    last_node_seconds=1.5,
    cpu_seconds=0.2,
    parts_cpu_seconds=1.5,
    probe_ms=0.8,
    resident_mib=100.0,
    nodes=1,
    dollars_per_hour=0.5,
    start_seconds=1.0,
)
ALLOCATE = """
import subprocess, sys
inner = "kept = bytearray(60 << 20); kept[::4096] = b'x' * 15360; print('held', flush=True); input()"
subprocess.run([sys.executable, "-c", inner], check=True)
"""


def contestant(name: str) -> Contestant:
    return Contestant(name=name, command=[], crds=Path(), settled=lambda _: True)


def test_controllers_take_turns_and_each_goes_first_every_other_time() -> None:
    shapes = [Shape(5), Shape(500)]
    order = [(shape.pods, c.name) for shape, c in turns([contestant("a"), contestant("b")], shapes, 2)]

    assert order == [
        (5, "a"),
        (5, "b"),
        (500, "a"),
        (500, "b"),
        (5, "b"),
        (5, "a"),
        (500, "b"),
        (500, "a"),
    ]


def test_the_table_shows_medians_by_size_and_controller() -> None:
    slower = msgspec.structs.replace(RUN, seconds=9.0)
    middling = msgspec.structs.replace(RUN, seconds=3.5, nodes=2)
    other = msgspec.structs.replace(RUN, controller="karpenter", pods=500, seconds=17.4)

    lines = table([RUN, slower, middling, other]).splitlines()

    assert lines[0].startswith("| pods | controller | runs | seconds | last node seconds |")
    assert lines[2].startswith("| 5 | treenail | 3 | 3.5 | 1.5 | 0.2 | 1.5 | 0.8 | 100 | 1 |")
    assert lines[3].startswith("| 500 | karpenter | 1 | 17.4 |")


@pytest.mark.parametrize(
    ("text", "number", "pods"),
    [("500", 1, 500), ("2000x20", 20, 100), ("60x6@0.5", 6, 10), ("job1000", 1, 1000)],
)
def test_what_is_asked_for_is_read_and_written_alike(text: str, number: int, pods: int) -> None:
    shape = Shape.read(text)
    made = shape.objects()

    assert str(shape) == text
    assert len({one["metadata"]["name"] for one in made}) == number
    assert [one["spec"].get("replicas", one["spec"].get("parallelism")) for one in made] == [pods] * number


def test_the_memory_of_what_a_process_started_counts_too() -> None:
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", ALLOCATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        used = usage(process.pid)
        process.stdin.write("\n")
        process.stdin.close()

    assert used.resident_bytes > 60 << 20
    assert used.cpu_seconds > 0


def test_the_probe_counts_the_cpu_time_of_its_own_thread() -> None:
    begun = time.thread_time()
    found = probe_ms()
    used = (time.thread_time() - begun) * 1000

    assert 0 < found <= used


def test_a_process_that_is_gone_uses_nothing() -> None:
    process = subprocess.Popen(["true"])  # noqa: S607
    process.wait()

    assert usage(process.pid).resident_bytes == 0


def test_the_state_of_a_process_tells_its_sockets_from_its_other_files() -> None:
    code = "import socket; kept = [socket.socket() for _ in range(3)]; print('held', flush=True); input()"
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        state = process_state(process.pid)
        process.stdin.write("\n")
        process.stdin.close()

    assert state.sockets == 3
    assert state.files > 3
    assert state.threads == 1
    assert state.total_mib > 1
