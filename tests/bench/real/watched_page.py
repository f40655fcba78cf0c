"""The live page in a browser: how late a change is seen, and what the page costs the controller.

    python -m tests.bench.real.watched_page [--nodes 200] [--pods 2000]

Nodes, claims and pods are written into etcd. While nodes and pods change as they do in clusters of this size,
the controller has a minute in which nobody looks, and one with the page open in a headless Chromium. A pod is
made every few seconds then, and the browser says when its name is on the page. Prints a line of JSON, and
fails where a change is seen after more than a second, or where the page costs more of a core than it may.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, Final
from urllib.request import urlopen

import msgspec
import websocket

from tests.bench.real.contest import install, until
from tests.bench.real.contestants import treenail
from tests.bench.real.etcd_writes import write
from tests.bench.real.footprint import change
from tests.bench.real.large import PODS, copies, running, seed, there
from tests.bench.real.usage import usage
from tests.real.browser import find_browser
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.loopback import answers, free_ports

# A change is seen after this many seconds at most.
SEEN_WITHIN: Final = 1.0
# Of a core, while one page is open.
COSTS_AT_MOST: Final = 0.02
# Between two pods that are to be seen.
_EVERY: Final = 5.0
# The start of the controller, and of the browser, is over then.
_SETTLE: Final = 20.0
_SEEN: Final = """
new Promise((seen) => {
  const there = () => document.body.textContent.includes("%s");
  const look = () => { if (there()) { watch.disconnect(); seen(Date.now() / 1000); } };
  const watch = new MutationObserver(look);
  watch.observe(document.body, { childList: true, subtree: true, characterData: true });
  look();
})
"""


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured: seconds until each change was seen, and the controller's share of a core."""

    nodes: int
    pods: int
    seen_after: list[float]
    unwatched: float
    watched: float
    load: float

    def misses(self) -> list[str]:
        """Return what is not as it should be."""
        found = []
        if max(self.seen_after) > SEEN_WITHIN:
            found.append(f"a change was seen after {max(self.seen_after):.2f} s, over {SEEN_WITHIN:g}")
        if (costs := self.watched - self.unwatched) > COSTS_AT_MOST:
            found.append(f"an open page costs {costs:.1%} of a core, over {COSTS_AT_MOST:.0%}")
        return found


class Tab:
    """The one tab of a browser, by the DevTools protocol."""

    def __init__(self, port: int) -> None:
        with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
            [page] = [one for one in msgspec.json.decode(answer.read()) if one["type"] == "page"]
        self._socket = websocket.create_connection(
            page["webSocketDebuggerUrl"], timeout=30, suppress_origin=True
        )
        self._asked = 0

    def ask(self, expression: str) -> None:
        """Have a promise awaited; `answer` returns what it came to."""
        self._asked += 1
        said = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        self._socket.send(
            msgspec.json.encode({"id": self._asked, "method": "Runtime.evaluate", "params": said}).decode()
        )

    def answer(self) -> float:
        """Return what the last promise came to; TimeoutError after half a minute."""
        while (said := msgspec.json.decode(self._socket.recv())).get("id") != self._asked:
            pass
        return float(said["result"]["result"]["value"])


@contextmanager
def browser(url: str) -> Iterator[Tab]:
    """Have a page open in a browser."""
    program = find_browser()
    if program is None:
        raise FileNotFoundError("no Chromium on this machine")
    [port] = free_ports(1)
    with TemporaryDirectory() as profile:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        opened = subprocess.Popen(  # noqa: S603 (a browser of this machine, on a page of our own)
            [
                program,
                *options,
                f"--remote-debugging-port={port}",
                f"--user-data-dir={profile}",
                url,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(lambda: answers(f"http://127.0.0.1:{port}/json/version"), "the browser does not start")
            yield Tab(port)
        finally:
            opened.terminate()
            opened.wait(30)


def _pending(name: str) -> dict[str, Any]:
    """Return a pod that waits for good: no pool has what it asks for."""
    pod = {"containers": [{"name": "c", "image": "pause"}], "nodeSelector": {"team": "nobody"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod}


class PodsThatWait(Thread):
    """Makes a pod that waits every few seconds until `stop`, and notes how late a browser shows each."""

    def __init__(self, parts: ControlPlane, tab: Tab | None) -> None:
        super().__init__(daemon=True)
        self._parts, self._tab = parts, tab
        self._stopped = Event()
        self.seen_after: list[float] = []

    def run(self) -> None:
        while not self._stopped.wait(_EVERY):
            name = f"seen-{time.time_ns()}"
            if self._tab is not None:
                self._tab.ask(_SEEN % name)
            begun = time.time()
            status, answer = self._parts.request("POST", PODS, _pending(name))
            assert status == 201, answer
            if self._tab is not None:
                self.seen_after.append(round(self._tab.answer() - begun, 2))

    def stop(self) -> None:
        self._stopped.set()
        self.join(60)


def cost(parts: ControlPlane, pid: int, nodes: int, pods: int, tab: Tab | None) -> tuple[float, list[float]]:
    """Return the share of a core that a process uses while things change, and how late `tab` shows some."""
    made = PodsThatWait(parts, tab)
    made.start()
    before, begun = usage(pid).cpu_seconds, time.monotonic()
    change(parts, nodes, pods, ())
    share = (usage(pid).cpu_seconds - before) / (time.monotonic() - begun)
    made.stop()
    return share, sorted(made.seen_after)


def measure(nodes: int, pods: int) -> Watched:
    """Return the figures of one cluster."""
    with ControlPlane() as parts:
        install(parts, treenail())
        first = seed(parts, -(-pods // nodes), treenail())
        for part in ("kwok", "kube-controller-manager"):
            parts.stop_part(part)
        write(parts.etcd, copies(first, nodes, pods))
        until(lambda: there(parts) > pods, "the API server does not see them", patience=120.0)
        [port] = free_ports(1)
        with running(treenail(), parts, {"ENABLE_UI": "true", "UI_PORT": str(port)}) as (_, pid, _ready):
            time.sleep(_SETTLE)
            unwatched, _nobody = cost(parts, pid, nodes, pods, None)
            with browser(f"http://127.0.0.1:{port}/ui") as tab:
                time.sleep(_SETTLE)
                watched, seen_after = cost(parts, pid, nodes, pods, tab)
    return Watched(
        nodes=nodes,
        pods=pods,
        seen_after=seen_after,
        unwatched=round(unwatched, 4),
        watched=round(watched, 4),
        load=round(os.getloadavg()[0], 1),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--pods", type=int, default=2_000)
    asked = parser.parse_args()
    found = measure(asked.nodes, asked.pods)
    print(msgspec.json.encode(found).decode())  # noqa: T201
    if problems := found.misses():
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
