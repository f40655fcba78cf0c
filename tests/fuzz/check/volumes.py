"""Volumes: where they let their pods go, and how many a node can hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.fuzz.check.catalogue import HOSTNAME
from tests.fuzz.check.decision import Decision
from tests.fuzz.check.faults import Fault, Kind
from tests.fuzz.check.homes import Home
from tests.fuzz.check.label_values import Term, allowed, term
from tests.fuzz.check.pods import Pod
from tests.fuzz.check.scenario import Scenario

Written: TypeAlias = Mapping[str, Any]

_BOUND: Final = "pv.kubernetes.io/bind-completed"
_IN_TREE: Final = {"kubernetes.io/aws-ebs": "ebs.csi.aws.com"}


@dataclass(frozen=True)
class Needs:
    """What a pod's volumes ask for: of each, one of its terms. `problem` says why no node would do.

    `attached` are the volumes that count on a node, as (driver, claim).
    """

    terms: tuple[tuple[Term, ...], ...] = ()
    attached: frozenset[tuple[str, str]] = frozenset()
    problem: str = ""

    def met_by(self, home: Home) -> bool:
        return not self.problem and all(home.meets(terms) for terms in self.terms)


class Volumes:
    """Tells the needs of pods, and the limits of nodes."""

    def __init__(self, scenario: Scenario) -> None:
        self._claims = {
            f"{one['metadata'].get('namespace') or 'default'}/{one['metadata']['name']}": one
            for one in scenario.items
            if one["kind"] == "PersistentVolumeClaim"
        }
        self._volumes = scenario.of_kind("PersistentVolume")
        self._classes = scenario.of_kind("StorageClass")
        self._nodes = scenario.of_kind("CSINode")
        self._known: dict[str, Needs] = {}

    def needs(self, pod: Pod) -> Needs:
        if pod.name not in self._known:
            self._known[pod.name] = self._find(pod) if pod.shape.volumes else Needs()
        return self._known[pod.name]

    def _find(self, pod: Pod) -> Needs:
        terms: list[tuple[Term, ...]] = []
        attached = set()
        for volume in pod.shape.volumes:
            key, claim = self._claim(pod, volume)
            if claim is None:
                return Needs(problem=f"claim {key} is missing")
            found = self._of_claim(claim)
            if isinstance(found, str):
                return Needs(problem=f"claim {key}: {found}")
            terms += [found[0]] if found[0] else []
            if found[1]:
                attached.add((_IN_TREE.get(found[1], found[1]), key))
        return Needs(tuple(terms), frozenset(attached))

    def _claim(self, pod: Pod, volume: Written) -> tuple[str, Written | None]:
        """Return a claim and its name; one of an ephemeral volume may still have to come."""
        if "persistentVolumeClaim" in volume:
            key = f"{pod.shape.namespace}/{volume['persistentVolumeClaim']['claimName']}"
            return key, self._claims.get(key)
        key = f"{pod.name}-{volume['name']}"
        to_come = {"metadata": {}, "spec": volume["ephemeral"]["volumeClaimTemplate"]["spec"]}
        return key, self._claims.get(key, to_come)

    def _of_claim(self, claim: Written) -> tuple[tuple[Term, ...], str] | str:
        """Return the terms and the driver of a claim's volume, or what is wrong with it."""
        metadata, spec = claim["metadata"], claim["spec"]
        if metadata.get("deletionTimestamp"):
            return "it is being deleted"
        if (claim.get("status") or {}).get("phase") == "Lost":
            return "its volume is lost"
        if spec.get("volumeName"):
            if _BOUND not in (metadata.get("annotations") or {}):
                return "it is not bound yet"
            return self._of_volume(spec["volumeName"])
        return self._of_class(spec.get("storageClassName") or "")

    def _of_volume(self, name: str) -> tuple[tuple[Term, ...], str] | str:
        if name not in self._volumes:
            return f"volume {name} is missing"
        spec = self._volumes[name]["spec"]
        required = (spec.get("nodeAffinity") or {}).get("required") or {}
        terms = [term(one.get("matchExpressions")) for one in required.get("nodeSelectorTerms") or ()]
        if "local" in spec or "hostPath" in spec:
            terms = [tuple(line for line in one if line[0] != HOSTNAME) for one in terms]
        return tuple(terms), (spec.get("csi") or {}).get("driver", "")

    def _of_class(self, name: str) -> tuple[tuple[Term, ...], str] | str:
        if not name:
            return "it has neither volume nor class"
        if name not in self._classes:
            return f"class {name} is missing"
        written = self._classes[name]
        if written.get("volumeBindingMode", "Immediate") == "Immediate":
            return "it is to be bound before its pod is placed"
        terms = tuple(
            tuple((line["key"], allowed("In", line["values"])) for line in one["matchLabelExpressions"])
            for one in written.get("allowedTopologies") or ()
        )
        return terms, written["provisioner"]

    def limits(self, node: str) -> dict[str, int]:
        """Return how many volumes a node can hold, by driver."""
        drivers = self._nodes.get(node, {}).get("spec", {}).get("drivers") or ()
        counts = {one["name"]: (one.get("allocatable") or {}).get("count") for one in drivers}
        return {driver: count for driver, count in counts.items() if count is not None}

    def over_limit(self, node: str, pods: list[Pod], new: list[Pod]) -> list[str]:
        """Return the drivers of which new pods bring more volumes than the node holds with `pods`."""
        held: defaultdict[str, set[str]] = defaultdict(set)
        for pod in [*pods, *new]:
            for driver, claim in self.needs(pod).attached:
                held[driver].add(claim)
        brought = {driver for pod in new for driver, _ in self.needs(pod).attached}
        limits = self.limits(node)
        return sorted(d for d in brought if d in limits and len(held[d]) > limits[d])


def check_volumes(decision: Decision, volumes: Volumes) -> Iterator[Fault]:
    for name, home in decision.placed.items():
        needs = volumes.needs(decision.scenario.pending[name])
        if needs.problem:
            yield Fault(Kind.VOLUME, name, f"is placed on {home.name}, but {needs.problem}")
        elif not needs.met_by(home):
            yield Fault(Kind.VOLUME, name, f"{home.name} need not be where its volumes are")
    for node in decision.scenario.nodes.values():
        over = volumes.over_limit(node.name, decision.bound(node), decision.newcomers(node))
        if over:
            yield Fault(Kind.ATTACH_LIMIT, node.name, f"holds too many volumes of {', '.join(over)}")
