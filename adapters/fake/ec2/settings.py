"""Settings of EC2: latencies, limits, and probabilities of faults."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.adapters.api.named_fields import named_fields
from treenail.adapters.fake.limits import check_faults, check_spans
from treenail.adapters.fake.luck import Span


@named_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class EC2Settings:
    """The speed of EC2, in seconds, and how it deals with its customers.

    `latency`: a call's way there, and back. `fleet_latency`: the way back of CreateFleet, which answers
    when the instances are bought. `visible`: from buying an instance to its showing up in listings.
    `pending`: from buying it to its running. `boot`: from running to its kubelet's joining the cluster.
    `shutdown`: from its termination to its being gone.
    `throttled`: whether calls are limited by EC2's token buckets; `launches_throttled`: whether the
    instances of CreateFleet are too, by the bucket of RunInstances, which is not documented.
    `moving_prices`: whether spot prices change with time. `spot_factor`: what share of the on-demand
    price spot costs, at least and at most.
    `state_notices`: whether every change of an instance's state is told through the queue.
    """

    latency: Span = (0.02, 0.1)
    fleet_latency: Span = (0.4, 1.6)
    visible: Span = (0.0, 2.0)
    pending: Span = (5.0, 15.0)
    boot: Span = (20.0, 40.0)
    shutdown: Span = (10.0, 40.0)
    throttled: bool = True
    launches_throttled: bool = False
    moving_prices: bool = False
    spot_factor: tuple[float, float] = (0.25, 0.60)
    state_notices: bool = True
    account: str = "123456789012"

    def __post_init__(self) -> None:
        check_spans(self)


@named_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class EC2Faults:
    """Faults by chance: probabilities from 0 to 1 per call or instance, none by default.

    `answer_lost`: the launch is done, but the call fails. `terminate_lost`: likewise for termination.
    `unavailable`: nothing is done, the call fails. `throttled`: it is refused as one too many.
    `slow`: a call takes `slow_seconds` longer, on the way there or back.
    `invisible`: an instance stays out of listings for `invisible_seconds`. `never_joins`: its kubelet
    never comes up. `shortage`: a launch finds a pool it would have taken from run out, which lasts
    `shortage_seconds`. `spot_interruption` is no probability but a rate, per spot instance and hour.

    Raises:
        ValueError: one of them cannot be.
    """

    answer_lost: float = 0.0
    terminate_lost: float = 0.0
    unavailable: float = 0.0
    throttled: float = 0.0
    slow: float = 0.0
    slow_seconds: Span = (5.0, 30.0)
    invisible: float = 0.0
    invisible_seconds: Span = (2.0, 30.0)
    never_joins: float = 0.0
    shortage: float = 0.0
    shortage_seconds: Span = (30.0, 600.0)
    spot_interruption: float = 0.0

    def __post_init__(self) -> None:
        check_faults(self, rates=("spot_interruption",))
