"""Device classes, claim templates, slices and taint rules by name, and the devices of each node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from treenail.domain.cluster.cluster_facts import DeviceObject, Kind
from treenail.domain.model.devices import (
    Device,
    DeviceClass,
    DeviceId,
    DeviceTaintRule,
    ResourceClaimTemplate,
    ResourceSlice,
)


class DeviceBook:
    """All device objects but allocations. `aside` are the objects that are not understood."""

    def __init__(self, aside: Mapping[tuple[Kind, str], object]) -> None:
        self._aside = aside
        self.classes: dict[str, DeviceClass] = {}
        self.templates: dict[str, ResourceClaimTemplate] = {}
        self.slices: dict[str, ResourceSlice] = {}
        self.rules: dict[str, DeviceTaintRule] = {}
        self._of_node: dict[str, dict[str, ResourceSlice]] = {}

    def put(self, thing: DeviceObject) -> tuple[str, ...]:
        """Keep the present state of an object; return the nodes whose devices it changes."""
        match thing:
            case DeviceClass():
                self.classes[thing.name] = thing
            case ResourceClaimTemplate():
                self.templates[thing.key] = thing
            case ResourceSlice():
                left = self._drop(thing.name)
                self.slices[thing.name] = thing
                if thing.node:
                    self._of_node.setdefault(thing.node, {})[thing.name] = thing
                return tuple(dict.fromkeys(name for name in (*left, thing.node) if name))
            case DeviceTaintRule():
                self.rules[thing.key] = thing
                return tuple(sorted(self._of_node))
        return ()

    def remove(self, kind: Kind, key: str) -> tuple[str, ...]:
        """Forget an object; return the nodes whose devices that changes."""
        if kind is Kind.RESOURCE_SLICE:
            return self._drop(key)
        if kind is Kind.DEVICE_TAINT_RULE:
            self.rules.pop(key, None)
            return tuple(sorted(self._of_node))
        if kind is Kind.DEVICE_CLASS:
            self.classes.pop(key, None)
        else:
            self.templates.pop(key, None)
        return ()

    def _drop(self, name: str) -> tuple[str, ...]:
        before = self.slices.pop(name, None)
        if before is None or not before.node:
            return ()
        there = self._of_node[before.node]
        del there[name]
        if not there:
            del self._of_node[before.node]
        return (before.node,)

    def devices_of(self, node: str) -> Mapping[DeviceId, Device]:
        """Return the devices of a node, those of complete pools, by what names them.

        Those that a rule taints are as if their driver had.
        """
        there = {
            (one.driver, one.pool, device.name): device
            for one in self._complete(node)
            for device in one.devices
        }
        rules = tuple(self.rules.values())
        return {
            name: replace(one, special="has a taint") if any(r.taints(name) for r in rules) else one
            for name, one in there.items()
        }

    def rule_for_new(self, driver: str) -> str:
        """Return the name of a rule that taints devices of a driver still to be published, "" without one."""
        return min((rule.name for rule in self.rules.values() if rule.taints_new(driver)), default="")

    def drivers_of(self, node: str) -> tuple[str, ...]:
        """Return the drivers that have published a complete pool of a node, sorted."""
        return tuple(sorted({one.driver for one in self._complete(node)}))

    def _complete(self, node: str) -> list[ResourceSlice]:
        """Return the slices of a node's pools, in order, of those pools of which all slices are there."""
        pools: dict[tuple[str, str], list[ResourceSlice]] = {}
        for _, one in sorted(self._of_node.get(node, {}).items()):
            pools.setdefault((one.driver, one.pool), []).append(one)
        found: list[ResourceSlice] = []
        for slices in pools.values():
            newest = max(one.generation for one in slices)
            latest = [one for one in slices if one.generation == newest]
            # A pool is all of its slices, or not known: the driver is about to write the others.
            # What was last understood of a slice that has changed since is no proof either.
            known = not any((Kind.RESOURCE_SLICE, one.name) in self._aside for one in slices)
            if known and all(one.slices == len(latest) for one in latest):
                found += latest
        return found
