from __future__ import annotations

import json
import time

from tests.adapters.cli.command import EXAMPLES, treenail
from tests.real.parts.jaeger import Jaeger

SPOT = str(EXAMPLES / "002-spot.yaml")


def test_a_rehearsal_is_found_in_jaeger_as_if_it_had_ended_now(jaeger: Jaeger) -> None:
    began = time.time()
    ran = treenail(
        "rehearse",
        "-f",
        SPOT,
        "--for",
        "10m",
        "--at",
        "5m",
        "spot-interruption",
        "--seed",
        "77",
        "-o",
        "json",
        "--otlp",
        jaeger.otlp_http,
    )

    assert ran.code == 0
    assert f"to {jaeger.otlp_http}/v1/traces\n" in ran.err
    for told in json.loads(ran.out)["traces"]:
        found = jaeger.trace(told["traceId"], spans=len(told["spans"]))["spans"]
        assert {one["operationName"] for one in found} == {one["name"] for one in told["spans"]}
        begins = [one["startTime"] / 1e6 for one in found]
        assert began - 601 < min(begins)
        assert max(begins) < time.time()
