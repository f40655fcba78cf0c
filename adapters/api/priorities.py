"""Priority of a pod, taken from its PriorityClass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from treenail.adapters.api.workloads import PriorityClass
from treenail.domain.model.pods import SYSTEM_CRITICAL_PRIORITY, PodSpec

_BUILT_IN: Final = {
    "system-cluster-critical": SYSTEM_CRITICAL_PRIORITY,
    "system-node-critical": SYSTEM_CRITICAL_PRIORITY + 1_000,
}


def priority_of(spec: PodSpec, classes: Mapping[str, PriorityClass]) -> tuple[str, int]:
    """Return the class and the priority that the API server gives a pod; `classes` are by name.

    Raises:
        LookupError: the class is not there.
        ValueError: the pod claims another priority than that of its class.
    """
    name, priority = spec.priority_class, spec.priority
    if not name:
        default = next((c for _, c in sorted(classes.items()) if c.global_default), None)
        return (default.name, default.value) if default and not priority else (name, priority)
    value = _BUILT_IN.get(name)
    if value is None:
        if name not in classes:
            raise LookupError(f"there is no PriorityClass {name}")
        value = classes[name].value
    if priority not in (0, value):
        raise ValueError(f"priority {priority} is not {value}, that of {name}")
    return name, value
