"""Settings of the actor system, made from the controller's: the same in the cluster and in rehearsals."""

from __future__ import annotations

from datetime import timedelta

from treenail.actors.system import SystemSettings
from treenail.adapters.settings.settings import CloudName, ConsolidationMode, Settings
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.disruption.node_repair import EC2_POLICIES, KWOK_POLICIES, RepairPolicy
from treenail.domain.interruption.notice_responses import InterruptionPolicy
from treenail.domain.packing.problem import PackingSettings


def system_settings(settings: Settings) -> SystemSettings:
    """Return what the whole system is told, with provisioning on."""
    return SystemSettings(
        cluster_name=settings.cluster_name,
        batch_idle_seconds=settings.batch_idle_duration,
        batch_max_seconds=settings.batch_max_duration,
        packing=PackingSettings(
            packing=settings.packing,
            order=settings.packing_order,
            preferences=settings.preference_policy,
            min_values=settings.min_values_policy,
            default_spread=settings.scheduler_config,
            node_overhead_cost=settings.node_overhead_cost,
            spot_is_replaced=settings.feature_gates["SpotToSpotConsolidation"],
        ),
        early_binding=settings.early_binding,
        tags=settings.aws_tags,
        interruptions=InterruptionPolicy(
            spot_interruption=settings.on_spot_interruption,
            rebalance_recommendation=settings.on_rebalance_recommendation,
            scheduled_change=settings.on_scheduled_change,
            instance_state_change=settings.on_instance_state_change,
            capacity_reservation_interruption=settings.on_capacity_reservation_interruption,
            impaired_status=settings.on_impaired_status,
            delete_pods_at_deadline=settings.delete_pods_at_deadline,
        ),
        repair=_repair(settings),
        consolidation=_consolidation(settings),
        provider="aws" if settings.cloud is CloudName.EC2 else settings.cloud.value,
        types_shown=settings.metrics_by_instance_type,
        static_capacity=settings.feature_gates["StaticCapacity"],
        resource_claims=not settings.ignore_dra_requests,
    )


def _repair(settings: Settings) -> tuple[RepairPolicy, ...]:
    """Return which nodes are replaced as unhealthy: none, unless the gate is open."""
    if not settings.feature_gates["NodeRepair"]:
        return ()
    return KWOK_POLICIES if settings.cloud is CloudName.KWOK else EC2_POLICIES


def _consolidation(settings: Settings) -> ConsolidationRules | None:
    if settings.consolidation is ConsolidationMode.OFF:
        return None
    return ConsolidationRules(
        acting=settings.consolidation is ConsolidationMode.ON,
        payback=timedelta(seconds=settings.consolidation_payback),
        spot_to_spot=settings.feature_gates["SpotToSpotConsolidation"],
    )
