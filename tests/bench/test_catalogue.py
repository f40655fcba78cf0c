"""What the shipped catalogue costs a process that has just started."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_benchmark.fixture import BenchmarkFixture

_ROOT: Final = Path(__file__).parents[2]
_MIB: Final = 2**20
# Loading all types, sized and labelled, took 4 times as long as reading their own JSON back: 0.07 s and 0.02.
_MOST_READINGS: Final = 10
_MOST_MIB: Final = 60

_LOAD: Final = """
import json, re, sys, time
from pathlib import Path
started = time.process_time()
from treenail.adapters.ec2.catalogue import Catalogue
from treenail.domain.model.node_classes import DEFAULT_KUBELET, AmiFamily, NodeClass, NodeClassRef
imported = time.process_time()
ref = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
node_class = NodeClass(ref=ref, ami_family=AmiFamily.AL2023)
types = Catalogue.shipped().instance_types(node_class, DEFAULT_KUBELET)
loaded = time.process_time()
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
from treenail.adapters.cli.catalogue import as_json
text = json.dumps([as_json(one) for one in types])
readings = []
for _ in range(5):
    began = time.process_time()
    json.loads(text)
    readings.append(time.process_time() - began)
json.dump({"types": len(types), "imported": imported - started, "loaded": loaded - imported,
           "read": min(readings), "peak": peak}, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Load:
    """What a fresh process took: CPU seconds, and bytes of memory at most."""

    types: int
    imported: float
    loaded: float
    read: float
    peak: int


def load() -> Load:
    done = subprocess.run(  # noqa: S603
        (sys.executable, "-c", _LOAD),
        env={"PYTHONPATH": f"{_ROOT / '.dev'}"},
        check=True,
        capture_output=True,
        text=True,
    )
    return Load(**json.loads(done.stdout))


def test_the_catalogue_is_there_soon_and_small_in_a_fresh_process(benchmark: BenchmarkFixture) -> None:
    found: Load = benchmark.pedantic(load, rounds=3, iterations=1)  # type: ignore[no-untyped-call]

    benchmark.extra_info["import s"] = round(found.imported, 3)
    benchmark.extra_info["load s"] = round(found.loaded, 3)
    benchmark.extra_info["peak MiB"] = found.peak // _MIB
    assert found.types > 1300
    assert found.loaded < _MOST_READINGS * found.read
    assert found.peak < _MOST_MIB * _MIB
