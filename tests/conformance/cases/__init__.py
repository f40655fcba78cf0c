"""The cases, suite by suite."""

from __future__ import annotations

from typing import Final

from tests.conformance.case import Case
from tests.conformance.cases import (
    affinity,
    choosing_types,
    clouds,
    consolidation,
    consolidation_choices,
    daemon_sets,
    draining,
    drift,
    emptiness,
    in_flight,
    instance_types_for_pods,
    interruptions,
    launch_templates,
    node_labels,
    pools_and_claims,
    provisioning,
    relaxation,
    replacing_nodes,
    spreading,
    static_capacity,
    valid_classes,
    valid_pools,
    volumes_of_pods,
)

CASES: Final[tuple[Case, ...]] = (
    *affinity.CASES,
    *choosing_types.CASES,
    *clouds.CASES,
    *consolidation.CASES,
    *consolidation_choices.CASES,
    *daemon_sets.CASES,
    *draining.CASES,
    *drift.CASES,
    *emptiness.CASES,
    *in_flight.CASES,
    *instance_types_for_pods.CASES,
    *interruptions.CASES,
    *launch_templates.CASES,
    *node_labels.CASES,
    *pools_and_claims.CASES,
    *provisioning.CASES,
    *relaxation.CASES,
    *replacing_nodes.CASES,
    *spreading.CASES,
    *static_capacity.CASES,
    *valid_classes.CASES,
    *valid_pools.CASES,
    *volumes_of_pods.CASES,
)
