from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.cli.command import treenail
from tests.probes import Probe
from treenail.adapters.controller.outside import NoQueue


def test_nodes_without_machines_need_neither_boto3_nor_arrays() -> None:
    code = (
        "import sys; import treenail.adapters.controller.controller, treenail.adapters.controller.outside, "
        "treenail.adapters.kwok.cloud; print([n for n in ('boto3', 'botocore', 'numpy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert done.stdout == "[]\n"


def test_other_commands_do_not_pay_for_the_controller() -> None:
    code = (
        "import sys; import treenail.adapters.cli.main; "
        "print([n for n in ('boto3', 'kubernetes', 'opentelemetry') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert done.stdout == "[]\n"


def test_without_a_queue_no_message_ever_comes() -> None:
    heard, queue = Probe(), NoQueue()

    queue.feed(heard)
    queue.delete(("receipt",))
    queue.stop()

    assert heard.received == []


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((), "treenail: CLUSTER_NAME: the name of the cluster must be given\n"),
        (
            ("--cluster-name=demo", "--metrics-port=high"),
            "treenail: --metrics-port: 'high' is not a port between 0 and 65535\n",
        ),
    ],
)
def test_a_bad_setting_is_one_line_and_code_two(
    options: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLUSTER_NAME", raising=False)

    ran = treenail("controller", *options)

    assert (ran.code, ran.err) == (2, complaint)


def test_no_way_to_the_cluster_is_one_line_and_code_two(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "treenail"
    done = subprocess.run(  # noqa: S603
        [
            str(program),
            "controller",
            "--cluster-name=demo",
            "--cloud=kwok",
            f"--kubeconfig={tmp_path / 'nothing'}",
            "--metrics-port=0",
            "--health-probe-port=0",
            f"--state-directory={tmp_path}",
        ],
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert done.stderr.startswith("treenail: KUBECONFIG: no way to the API server")
    assert done.stderr.count("\n") == 1
