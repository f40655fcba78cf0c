"""Watches what is bought and given back while things go wrong, and says at the end whether it was right."""

from __future__ import annotations

from tests.simulation.invariants import Invariants
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.ec2 import EndCause
from treenail.domain.model.fleets import Instance
from treenail.domain.model.nodes import NodeClaim


class Judge:
    """Judges one rehearsal. Raises AssertionError at the first thing that must not be, with when it was.

    From the start on: no instance is bought for nobody or twice for a claim, no room is promised twice, and
    the controller ends no instance whose claim lives.
    """

    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self._invariants = Invariants(rehearsal)
        rehearsal.ec2.on_gone(self._ended)

    def _ended(self, instance: Instance) -> None:
        record = next(r for r in self._rehearsal.ec2.all_instances() if r.instance.id == instance.id)
        if record.cause is not EndCause.CONTROLLER:
            return
        claim = self._claim_of(instance)
        if claim is not None and not claim.leaving:
            self._fail(f"{instance.id} was terminated, though {claim.name} lives")

    def _claim_of(self, instance: Instance) -> NodeClaim | None:
        claims = self._rehearsal.claims()
        return next((c for c in claims if c.provider_id == instance.provider_id), None)

    # --- when the trouble is over

    def served(self) -> bool:
        """Return whether every pod has a node, or a claim with an instance that is to be its node."""
        rehearsal = self._rehearsal
        if not rehearsal.process.alive:
            return False
        model = rehearsal.system.model
        launched = {c.name for c in rehearsal.claims() if c.provider_id and not c.leaving}
        nodes = {n.name for n in rehearsal.nodes()}
        for pod in rehearsal.pods():
            promise = model.promises.of(pod.uid)
            if not pod.node_name and (promise is None or promise.target not in launched | nodes):
                return False
        return all(c.name in launched for c in rehearsal.claims() if not c.leaving)

    def recovered(self, *, within: float) -> float:
        """Let time pass until every pod is served; return after how many seconds from now.

        Raises:
            AssertionError: it takes longer than `within` seconds.
        """
        since = self._rehearsal.seconds
        self._rehearsal.run_until(self.served, within=within)
        return self._rehearsal.seconds - since

    def settled(self) -> None:
        """Check that all pods are bound, and that instances, claims and nodes are each other's."""
        waiting = [pod.key for pod in self._rehearsal.pods() if not pod.node_name]
        if waiting:
            self._fail(f"{len(waiting)} pods are not bound, {waiting[0]} first: {self._rehearsal.summary()}")
        self._invariants.check_settled()

    def empty(self) -> None:
        """Check that nothing is left, and that it is known of every instance why it ended."""
        self._invariants.check_empty()

    def _fail(self, what: str) -> None:
        raise AssertionError(f"at {self._rehearsal.seconds:.3f} s: {what}")
