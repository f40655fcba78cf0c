"""Watches what becomes of pods while nodes go, and says at the end whether any was wronged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster import Change
from treenail.domain.model.fleets import Instance
from treenail.domain.model.pods import Phase, Pod


@dataclass(slots=True)
class Witness:
    """Sees every pod that vanishes without having been given its time, and every budget that is broken.

    `healthy` is how many pods of each app there must be at any time, from the first that there are.
    """

    rehearsal: Rehearsal
    healthy: Mapping[str, int]
    wrongs: list[str] = field(default_factory=list)
    _well: dict[str, dict[str, str]] = field(default_factory=dict)
    _running: dict[str, Pod] = field(default_factory=dict)
    _reached: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rehearsal.cluster.on_change(self._note)
        self.rehearsal.ec2.on_gone(self._machine_gone)

    def _note(self, change: Change) -> None:
        pod = change.after if isinstance(change.after, Pod) else change.before
        if not isinstance(pod, Pod) or pod.daemon:
            return
        if change.after is None:
            self._gone(pod)
            return
        if pod.phase is Phase.RUNNING:
            self._running[pod.uid] = pod
        well = self._well.setdefault(pod.labels["app"], {})
        if pod.active and pod.ready:
            well[pod.uid] = pod.node_name
        else:
            well.pop(pod.uid, None)
        self._look(pod.labels["app"])

    def _gone(self, pod: Pod) -> None:
        was = self._running.pop(pod.uid, None)
        self._well.get(pod.labels["app"], {}).pop(pod.uid, None)
        if was is not None and was.deleting_since is None:
            self._wrong(f"{pod.key} was gone at once")
        self._look(pod.labels["app"])

    def _machine_gone(self, instance: Instance) -> None:
        node = self.rehearsal.ec2.node_name(instance)
        there = [pod.key for pod in self._running.values() if pod.node_name == node]
        if there:
            self._wrong(f"the machine of {node} went with {there}")

    def _look(self, app: str) -> None:
        least, well = self.healthy.get(app, 0), len(self._well.get(app, {}))
        if well >= least:
            self._reached[app] = None
        elif app in self._reached:
            self._wrong(f"{app} has {well} healthy pods and needs {least}")

    def _wrong(self, what: str) -> None:
        self.wrongs.append(f"at {self.rehearsal.seconds:.3f} s: {what}")

    def check(self) -> None:
        """Raise AssertionError with what was wrong first, if anything was."""
        if self.wrongs:
            kinds = Counter(wrong.partition(": ")[2].split(" ")[0] for wrong in self.wrongs)
            raise AssertionError(f"{self.wrongs[0]} (and {len(self.wrongs) - 1} more, {dict(kinds)})")
