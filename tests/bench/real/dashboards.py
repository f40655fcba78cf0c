"""Karpenter's dashboards on Treenail: each query, asked of a Prometheus that scrapes each controller.

    python -m tests.bench.real.dashboards DASHBOARD.json... [--pods 24] [--only treenail]

The dashboards are Grafana's. Both controllers see the same: pods of three sizes come, run and go with their
nodes, and some come again. Each has a control plane of its own, and they take turns. Prints for each
query how the answers compare, by labels and values, and the first of them; then how large a scrape is.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import urllib3

from tests.bench.real.contest import DEPLOYMENTS, NODES, deployment, install, until
from tests.bench.real.contestants import POOL_PATH, Contestant, common_env, karpenter, treenail
from tests.real.parts import binaries
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.objects import MERGE
from tests.real.parts.processes import Processes, Program

_SIZES: Final = (("small", "100m"), ("middle", "1"), ("large", "3"))
# What Grafana puts in place of variables. Those that are not here stand for all there is.
_VARIABLES: Final = {"distribution_filter": "nodepool", "cluster": "bench", "controller": ".*"}
_CONFIG: Final = """\
global: {{scrape_interval: 2s, scrape_timeout: 2s}}
scrape_configs:
  - job_name: karpenter
    static_configs: [{{targets: ["127.0.0.1:{port}"], labels: {{cluster: bench}}}}]
"""
# Labels in which two runs differ though both do the same.
_OWN: Final = frozenset({"node_name", "node", "name", "instance", "scheduling_id", "zone", "instance_type"})

Series = dict[tuple[tuple[str, str], ...], float]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one controller showed: the answers by query, and its last scrape."""

    answers: Mapping[str, Series]
    series: int
    bytes: int
    milliseconds: float


def queries(files: list[Path]) -> list[str]:
    """Return the queries of all panels, with values in place of variables."""
    found = (query for file in files for query in _of_panels(json.loads(file.read_text())["panels"]))
    return list(dict.fromkeys(map(_asked, found)))


def _of_panels(panels: list[dict[str, Any]]) -> Iterator[str]:
    for panel in panels:
        yield from (target["expr"] for target in panel.get("targets", []) if target.get("expr"))
        yield from _of_panels(panel.get("panels", []))


def _asked(query: str) -> str:
    """Return a query on one line, with values in place of variables; rates are over the whole run."""
    flat = " ".join(query.split(" #", maxsplit=1)[0].split()).replace("$__rate_interval", "10m")
    flat = re.sub(r'=\s*"\$controller"', '=~".*"', flat)
    return re.sub(r"\$\{?(\w+)\}?", lambda found: _VARIABLES.get(found[1], ".*"), flat)


def observe(contestant: Contestant, asked: list[str], pods: int) -> Seen:
    """Run one controller through the history, and ask."""
    with ControlPlane() as parts, tempfile.TemporaryDirectory() as folder:
        install(parts, contestant)
        limits = {"spec": {"limits": {"cpu": "1000", "memory": "1000Gi"}}}
        disruption = {"consolidateAfter": "5s", "budgets": [{"nodes": "100%"}]}
        for change in (limits, {"spec": {"disruption": disruption}}):
            parts.request("PATCH", POOL_PATH, change, content_type=MERGE)
        metrics_port, health_port, port = free_ports(3)
        env = common_env(parts.kubeconfig, metrics_port=metrics_port, health_port=health_port)
        processes = Processes()
        try:
            processes.start(
                Program(
                    name=contestant.name,
                    command=contestant.command,
                    ready=lambda: answers(f"http://127.0.0.1:{health_port}/readyz"),
                    env={**env, **contestant.env, "METRICS_BY_INSTANCE_TYPE": "true"},
                )
            )
            processes.wait(contestant.name)
            url = _scraped(processes, Path(folder), metrics_port, port)
            until(lambda: contestant.settled(parts), "the pool is not taken in")
            _history(parts, pods)
            return _ask(url, f"http://127.0.0.1:{metrics_port}/metrics", asked)
        finally:
            processes.close()


def _scraped(processes: Processes, folder: Path, target: int, port: int) -> str:
    (folder / "config.yaml").write_text(_CONFIG.format(port=target))
    url = f"http://127.0.0.1:{port}"
    command: list[str | Path] = [
        binaries.program("prometheus"),
        f"--config.file={folder / 'config.yaml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    processes.start(Program(name="prometheus", command=command, ready=lambda: answers(f"{url}/-/ready")))
    processes.wait("prometheus")
    return url


def _history(parts: ControlPlane, pods: int) -> None:
    """Have pods come, go with their nodes, and some of them come again."""
    for name, cpu in _SIZES:
        made = deployment(pods // 3, name)
        requests = {"cpu": cpu, "memory": "256Mi"}
        made["spec"]["template"]["spec"]["containers"][0]["resources"] = {
            "requests": requests,
            "limits": {"memory": "512Mi"},
        }
        assert parts.request("POST", DEPLOYMENTS, made)[0] == 201

    def ready() -> int:
        listed = parts.request("GET", DEPLOYMENTS)[1]["items"]
        return sum(one.get("status", {}).get("readyReplicas") or 0 for one in listed)

    until(lambda: ready() == 3 * (pods // 3), "the pods do not run", patience=180.0)
    time.sleep(20)
    for name, _ in _SIZES:
        parts.request("PATCH", f"{DEPLOYMENTS}/{name}", {"spec": {"replicas": 0}}, content_type=MERGE)
    until(lambda: not parts.request("GET", NODES)[1]["items"], "the nodes do not go", patience=150.0)
    parts.request("PATCH", f"{DEPLOYMENTS}/small", {"spec": {"replicas": pods // 3}}, content_type=MERGE)
    until(lambda: ready() == pods // 3, "the pods do not run again", patience=120.0)
    time.sleep(30)


def _ask(url: str, metrics: str, asked: list[str]) -> Seen:
    pool = urllib3.PoolManager()
    found: dict[str, Series] = {}
    for query in asked:
        answer = pool.request("GET", f"{url}/api/v1/query", fields={"query": query}, timeout=10).json()
        result = answer.get("data", {}).get("result", [])
        found[query] = {_labels(one["metric"]): float(one["value"][1]) for one in result}
    began = time.monotonic()
    body = pool.request("GET", metrics, timeout=30).data
    took = (time.monotonic() - began) * 1000
    series = sum(1 for line in body.splitlines() if line and not line.startswith(b"#"))
    return Seen(found, series, len(body), took)


def _labels(metric: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, "*" if key in _OWN else value) for key, value in metric.items()))


def verdict(ours: Series, theirs: Series) -> str:
    """Return in a word how the answers to one query compare."""
    if not ours and not theirs:
        return "both nothing"
    if not theirs:
        return "ours alone"
    if not ours:
        return "theirs alone"
    if ours.keys() != theirs.keys():
        return "other labels" if not ours.keys() & theirs.keys() else "some labels the same"
    near = all(
        abs(value - theirs[key]) <= 0.1 * max(abs(value), abs(theirs[key]), 1e-9)
        for key, value in ours.items()
    )
    return "the same" if near else "same labels, other values"


def main() -> int:
    """Observe both, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dashboards", nargs="+", type=Path)
    parser.add_argument("--pods", type=int, default=24)
    parser.add_argument("--only")
    options = parser.parse_args()
    asked = queries(options.dashboards)
    seen = {
        one.name: observe(one, asked, options.pods)
        for one in (karpenter(), treenail())
        if options.only in (None, one.name)
    }
    sys.stdout.writelines(_report(asked, seen))
    return 0


def _report(asked: list[str], seen: Mapping[str, Seen]) -> Iterator[str]:
    for query in asked:
        found = [one.answers[query] for one in seen.values()]
        word = verdict(found[1], found[0]) if len(found) > 1 else f"{len(found[0])} series"
        yield f"{word}\t{query}\n"
        for name, one in seen.items() if word != "the same" else ():
            for labels, value in sorted(one.answers[query].items())[:4]:
                yield f"\t{name}\t{value:g}\t{dict(labels)}\n"
    for name, one in seen.items():
        yield f"{name}: {one.series} series, {one.bytes} bytes, {one.milliseconds:.0f} ms\n"


if __name__ == "__main__":
    sys.exit(main())
