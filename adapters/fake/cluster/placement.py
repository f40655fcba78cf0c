"""Fit and score of a pod spec on each node."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass

from treenail.adapters.fake.cluster.accounts import Accounts, NodeAccount, clash
from treenail.adapters.fake.cluster.matching import repelling
from treenail.adapters.fake.cluster.storage import Hindrance
from treenail.adapters.fake.cluster.topology import Topology
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.resources import CPU, MEMORY, PODS
from treenail.domain.model.taints import UNSCHEDULABLE, Effect, untolerated

# How unsuited a node is: by taints not liked, preferences not met, pods on it to be apart from, how full it
# is, how late it came; then its name and the version of its account.
_Candidate = tuple[int, int, int, float, int, str, int]
# Of the labels that its pods' topologies go by.
_Values = tuple[str | None, ...]


def not_simulated(spec: PodSpec) -> str:
    """Return what of `spec` decides about nodes though it is not simulated here, if anything is."""
    return "resource claims" if spec.resource_claims else ""


def shape_misfit(spec: PodSpec, alternatives: tuple[Requirements, ...], account: NodeAccount) -> str:
    """Return why a node's labels, taints or state keep pods of `spec` off, "" where they do not."""
    node = account.node
    if node is None:
        return "node(s) were gone"
    if node.unschedulable and untolerated((UNSCHEDULABLE,), spec.tolerations) is not None:
        return "node(s) were unschedulable"
    taint = untolerated(repelling(node), spec.tolerations)
    if taint is not None:
        return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
    if not any(account.described.compatible(wanted) for wanted in alternatives):
        return "node(s) didn't match Pod's node affinity/selector"
    return ""


def _end_of(account: NodeAccount) -> str:
    """Return that a node goes, "" where it does not. Daemons come to it all the same."""
    ending = account.node is not None and account.node.deleting_since is not None
    return "node(s) were being deleted" if ending else ""


def room_misfit(
    spec: PodSpec,
    needs: tuple[tuple[str, int], ...],
    account: NodeAccount,
    *,
    but: Container[str] = (),
    without: Iterable[Pod] = (),
) -> str:
    """Return why pods of `spec` have no room on a node, "" where they have.

    Room that is held for pods of their priority or a higher one is none, but for pods of the uids `but`. The
    pods `without` count as gone.
    """
    held = account.held_from(spec.priority, but)
    if held or without:
        room, ports = account.room_beside(without, held)
        short = next((resource for resource, amount in needs if amount > room.get(resource, 0)), None)
        taken = clash(spec.host_ports, ports)
    else:
        short, taken = account.shortage(needs), account.port_taken(spec.host_ports)
    if short is not None:
        return "Too many pods" if short == PODS else f"Insufficient {short}"
    if taken:
        return "node(s) didn't have free ports for the requested pod ports"
    return ""


def needs_of(spec: PodSpec) -> tuple[tuple[str, int], ...]:
    """Return the amounts a pod asks for, less those of nothing."""
    return tuple((resource, amount) for resource, amount in spec.requests.items() if amount)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """The verdict on a node's shape: why it keeps pods off, taints they dislike, and wishes it fails."""

    shape: int
    misfit: str
    dislikes: int
    unmet: int


def _no_hindrance(_account: NodeAccount) -> str:
    return ""


class Profile:
    """Alike pods that wait for a node, and the nodes they fit, the best one first.

    It looks only at nodes that changed since its last look, so that asking often costs little. With `volumes`
    (of the one pod they belong to) it looks at all nodes. With `topology`, nodes are grouped by the labels
    that the topology terms use: what holds for one of a group holds for all. `waiting` are uids with their
    place in the queue; `fresh` are those of them never refused yet.
    """

    def __init__(
        self,
        spec: PodSpec,
        accounts: Accounts,
        *,
        fill: bool,
        topology: Topology | None = None,
        volumes: Callable[[], Hindrance] | None = None,
    ) -> None:
        self.spec = spec
        self.topology = topology
        # Whether where other pods are can hold these up.
        self.choosy = topology is not None and topology.strict
        self._keys = topology.keys if topology is not None else ()
        self._volumes = volumes
        self._hindrance: Hindrance = _no_hindrance
        self.waiting: dict[str, int] = {}
        self.fresh: dict[str, None] = {}
        self.not_simulated = not_simulated(spec) if volumes is None else ""
        self._accounts = accounts
        self._fill = fill
        self._needs = needs_of(spec)
        self._wanted = dict(self._needs)
        self._alternatives = spec.alternatives()
        self._judged: dict[str, _Verdict] = {}
        # By the values of the keys, the best candidate first.
        self._candidates: dict[_Values, list[_Candidate]] = {}
        self._seen = -1

    def best(self) -> NodeAccount | None:
        """Return the node that suits pods of this spec best, if any has room for one."""
        if self.not_simulated:
            return None
        self._catch_up()
        best = min(self._tops(), key=self._rank, default=None)
        return None if best is None else self._accounts.by_name[best[-2]]

    def refusal(self) -> str:
        """Return why no node takes a pod of this spec, as the scheduler says it."""
        if self.not_simulated:
            return f"pods with {self.not_simulated} are not simulated by this scheduler"
        accounts = tuple(self._accounts.present())
        reasons = Counter(self._misfit(account) or self._topology_misfit(account) for account in accounts)
        counted = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        return f"0/{len(accounts)} nodes are available{': ' if counted else ''}{counted}."

    def closed(self, account: NodeAccount) -> bool:
        """Return whether something else than the lack of room keeps pods of this spec off a node."""
        why = self._judge(account).misfit or self._hindrance(account) or self._topology_misfit(account)
        return bool(why)

    def fits_without(self, uid: str, account: NodeAccount, gone: Iterable[Pod]) -> bool:
        """Return whether a node would have room for the pod `uid` of this spec, were the pods `gone` gone."""
        return not room_misfit(self.spec, self._needs, account, but=(uid,), without=gone)

    def keeps_near(self, pod: Pod) -> bool:
        """Return whether pods of this spec must be near `pod`."""
        return self.topology is not None and self.topology.wants(pod)

    def _rank(self, candidate: _Candidate) -> tuple[int, int, float, float, int]:
        """Return by what to choose among the best of each kind: spreads that are wishes first, then room."""
        dislikes, unmet, _, use, order, name, _ = candidate
        node = self._accounts.by_name[name].node
        uneven = self.topology.unevenness(node.labels) if self.topology is not None and node else 0.0
        return dislikes, unmet, uneven, use, order

    def _tops(self) -> Iterator[_Candidate]:
        """Yield the best node of each kind."""
        for values, candidates in tuple(self._candidates.items()):
            top = self._top(candidates)
            if top is not None:
                yield top
            elif not candidates:
                del self._candidates[values]

    def _top(self, candidates: list[_Candidate]) -> _Candidate | None:
        """Return the best of candidates of one kind that pods may go to, and drop what is out of date."""
        kept_off: list[_Candidate] = []
        found: _Candidate | None = None
        while candidates and found is None:
            first = candidates[0]
            account = self._accounts.by_name.get(first[-2])
            if account is None or account.version != first[-1]:
                heapq.heappop(candidates)
            elif self.topology is None:
                found = first
            elif not kept_off and self.topology.closes(account):
                break
            elif self.topology.keeps_off(account):
                kept_off.append(heapq.heappop(candidates))
            else:
                found = first
        for candidate in kept_off:
            heapq.heappush(candidates, candidate)
        return found

    def _catch_up(self) -> None:
        if self._volumes is not None:
            self._hindrance = self._volumes()
            self._start_over()
            return
        accounts = self._accounts
        position = accounts.forgotten + len(accounts.history)
        if self._seen == position:
            return
        missed = position - self._seen
        if self._seen < accounts.forgotten or missed > len(accounts.by_name):
            self._start_over()
        else:
            for name in dict.fromkeys(accounts.history[-missed:]):
                self._consider(accounts.by_name.get(name))
        self._seen = position

    def _start_over(self) -> None:
        self._candidates = {}
        for account in self._accounts.by_name.values():
            self._consider(account)
        if len(self._judged) > 2 * len(self._accounts.by_name):
            self._judged = {name: j for name, j in self._judged.items() if name in self._accounts.by_name}

    def _consider(self, account: NodeAccount | None) -> None:
        candidate = self._candidate(account)
        if candidate is not None and account is not None and account.node is not None:
            values = tuple(map(account.node.labels.get, self._keys))
            heapq.heappush(self._candidates.setdefault(values, []), candidate)

    def _candidate(self, account: NodeAccount | None) -> _Candidate | None:
        if account is None or account.node is None:
            return None
        if self._misfit(account):
            return None
        judgement = self._judge(account)
        use = self._share(account, CPU) + self._share(account, MEMORY)
        return (
            judgement.dislikes,
            judgement.unmet,
            self.topology.neighbours(account.node.labels) if self.topology is not None else 0,
            -use if self._fill else use,
            account.order,
            account.name,
            account.version,
        )

    def _misfit(self, account: NodeAccount) -> str:
        return (
            self._judge(account).misfit
            or room_misfit(self.spec, self._needs, account, but=self.waiting)
            or self._hindrance(account)
        )

    def _topology_misfit(self, account: NodeAccount) -> str:
        return self.topology.misfit(account) if self.topology is not None else ""

    def _judge(self, account: NodeAccount) -> _Verdict:
        """Return what the node's shape means for pods of this spec; judged anew when it has changed."""
        known = self._judged.get(account.name)
        if known is None or known.shape != account.shape:
            known = self._judged[account.name] = _Verdict(
                shape=account.shape,
                misfit=_end_of(account) or shape_misfit(self.spec, self._alternatives, account),
                dislikes=self._dislikes(account),
                unmet=self._unmet(account),
            )
        return known

    def _share(self, account: NodeAccount, resource: str) -> float:
        """Return the share of a resource that would be in use with one pod more, from 0 to 1."""
        there = account.node.allocatable.get(resource, 0) if account.node else 0
        if there <= 0:
            return 1.0
        return (there - account.room.get(resource, 0) + self._wanted.get(resource, 0)) / there

    def _dislikes(self, account: NodeAccount) -> int:
        soft = (
            (t for t in account.node.taints if t.effect is Effect.PREFER_NO_SCHEDULE) if account.node else ()
        )
        return sum(untolerated((taint,), self.spec.tolerations) is not None for taint in soft)

    def _unmet(self, account: NodeAccount) -> int:
        return sum(
            weight
            for weight, term in self.spec.node_affinity.preferred
            if not account.described.compatible(Requirements(e.requirement() for e in term))
        )
