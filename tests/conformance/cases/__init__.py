"""The cases, suite by suite."""

from __future__ import annotations

from typing import Final

from tests.conformance.case import Case
from tests.conformance.cases import (
    affinity,
    choosing_types,
    clouds,
    consolidation,
    giving_back,
    in_flight,
    instance_types_for_pods,
    launch_templates,
    leaving,
    node_labels,
    pools_and_claims,
    provisioning,
    relaxation,
    spreading,
    volumes_of_pods,
)

CASES: Final[tuple[Case, ...]] = (
    *node_labels.CASES,
    *relaxation.CASES,
    *instance_types_for_pods.CASES,
    *spreading.CASES,
    *affinity.CASES,
    *in_flight.CASES,
    *choosing_types.CASES,
    *provisioning.CASES,
    *volumes_of_pods.CASES,
    *giving_back.CASES,
    *consolidation.CASES,
    *leaving.CASES,
    *launch_templates.CASES,
    *clouds.CASES,
    *pools_and_claims.CASES,
)
