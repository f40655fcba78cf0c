from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.cli.command import EXAMPLES, INFLATE, treenail
from treenail.adapters.embed.told_settings import DECIDING
from treenail.adapters.settings.settings import VARIABLES

UNREHEARSED = "cannot be rehearsed: the scheduler of a rehearsal has no default constraints"
SPOT = str(EXAMPLES / "002-spot.yaml")


def cordoned_at(*settings: str) -> float:
    """Return when the node of a rehearsal is cordoned whose spot interruption is announced after 300 s."""
    options = [part for one in settings for part in ("--setting", one)]
    arguments = ("-f", SPOT, "--for", "12m", "--at", "5m", "spot-interruption", "-o", "json")
    timeline = json.loads(treenail("rehearse", *arguments, *options).out)["timeline"]
    at: float = next(e["at"] for e in timeline if e["event"] == "NodeCordoned")
    return at


def test_a_setting_counts_as_in_the_controller() -> None:
    assert 300 < cordoned_at() < 310
    # When EC2 has ended the instance.
    assert cordoned_at("ON_SPOT_INTERRUPTION=record") > 420


def test_the_setting_comes_before_the_config_map(tmp_path: Path) -> None:
    told = tmp_path / "settings.yaml"
    told.write_text(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: karpenter-global-settings, namespace: karpenter},"
        " data: {batchMaxDuration: 9s, batchIdleDuration: 9s}}"
    )
    closed = []
    for options in ((), ("--setting", "BATCH_IDLE_DURATION=2s")):
        out = treenail("rehearse", "-f", INFLATE, "-f", str(told), "--for", "1m", "-o", "json", *options).out
        closed.append(next(e["at"] for e in json.loads(out)["timeline"] if e["event"] == "BatchClosed"))

    assert closed[1] < closed[0]


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("PACKING", "--setting 'PACKING' is not NAME=VALUE, such as CONSOLIDATION=off"),
        (
            "packing=cheapest",
            "--setting 'packing=cheapest': there is no setting packing; did you mean PACKING?",
        ),
        ("XYZZY=1", "--setting 'XYZZY=1': there is no setting XYZZY"),
        (
            "KUBECONFIG=x",
            "--setting 'KUBECONFIG=x': KUBECONFIG changes nothing where no cluster and no AWS is asked",
        ),
        (
            "SCHEDULER_CONFIG=x",
            f"--setting 'SCHEDULER_CONFIG=x': SCHEDULER_CONFIG {UNREHEARSED}",
        ),
        ("EARLY_BINDING=maybe", "--setting EARLY_BINDING: 'maybe' is neither true nor false"),
    ],
)
def test_a_setting_that_cannot_count_is_refused(setting: str, complaint: str) -> None:
    ran = treenail("rehearse", "-f", INFLATE, "--setting", setting)

    assert (ran.code, ran.out, ran.err) == (2, "", f"treenail: {complaint}\n")


def test_all_settings_that_decide_are_settings() -> None:
    assert set(DECIDING) <= {variable.name for variable in VARIABLES}
