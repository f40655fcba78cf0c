"""The interruption policy: the user's answer to each kind of notice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from treenail.domain.interruption.message_parsing import InterruptionKind


class Response(StrEnum):
    """The response to a warning: its nodes are given back, or it is recorded and no more."""

    ACT = "act"
    RECORD = "record"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionPolicy:
    """The response to each kind of warning.

    With `delete_pods_at_deadline`, pods that are still on a machine shortly before it ends are deleted,
    whatever protects them. Without it they are only evicted as usual, and may be lost with the machine.
    """

    spot_interruption: Response = Response.ACT
    rebalance_recommendation: Response = Response.RECORD
    scheduled_change: Response = Response.ACT
    instance_state_change: Response = Response.ACT
    capacity_reservation_interruption: Response = Response.ACT
    impaired_status: Response = Response.ACT
    delete_pods_at_deadline: bool = True

    def acts_on(self, kind: InterruptionKind) -> bool:
        """Return whether nodes are given back for a warning of this kind."""
        match kind:
            case InterruptionKind.SPOT_INTERRUPTED:
                response = self.spot_interruption
            case InterruptionKind.REBALANCE_RECOMMENDATION:
                response = self.rebalance_recommendation
            case InterruptionKind.SCHEDULED_CHANGE | InterruptionKind.EVENT_STATUS:
                response = self.scheduled_change
            case InterruptionKind.INSTANCE_STOPPED | InterruptionKind.INSTANCE_TERMINATED:
                response = self.instance_state_change
            case InterruptionKind.CAPACITY_RESERVATION_INTERRUPTED:
                response = self.capacity_reservation_interruption
            case InterruptionKind.INSTANCE_STATUS | InterruptionKind.SYSTEM_STATUS:
                response = self.impaired_status
            case InterruptionKind.NO_OP:
                response = Response.RECORD
        return response is Response.ACT
