"""ResourceQuotas and LimitRanges: defaults for new pods, and what a namespace may not have."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from treenail.adapters.api.core.quotas import COUNTED
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.fake.cluster.objects import KIND_OF, Address, Change, address_of
from treenail.adapters.fake.cluster.store import Store
from treenail.domain.model.limit_ranges import LimitRange, completed, over_limit, problems
from treenail.domain.model.pod_parts import ContainerNeeds, PodParts
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.resource_quotas import ResourceQuota
from treenail.domain.model.resources import NOTHING, PODS, Resources

_MOST_REMEMBERED: Final = 10_000


class Quotas:
    """The effect of quotas and limit ranges on new objects; `status.used` of each quota follows at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._quotas: dict[str, dict[Address, None]] = {}
        self._ranges: dict[str, dict[str, LimitRange]] = {}
        self._completed: dict[tuple[int, str], tuple[PodSpec, PodSpec]] = {}
        self._alike: dict[PodSpec, PodSpec] = {}
        store.listen(self._range_changed, "LimitRange")
        store.listen(self._quota_changed, "ResourceQuota")
        store.listen(self._counted_changed, "Pod", *dict.fromkeys(COUNTED.values()))

    def completed(self, pod: Pod) -> tuple[PodSpec, str]:
        """Return a new pod's spec with the defaults of its namespace, and why it may not be, "" if it may.

        The spec has no containers any more: what they ask for together counts from now on.
        """
        key = id(pod.spec), pod.namespace
        known = self._completed.get(key)
        problem = ""
        if known is None:
            if len(self._completed) >= _MOST_REMEMBERED:
                self._completed.clear()
                self._alike.clear()
            spec, problem = self._complete(pod)
            known = pod.spec, self._alike.setdefault(spec, spec)
            if not problem:
                self._completed[key] = known
        return known[1], problem or self._refusal_of_pod(pod, known[1])

    def refusal(self, thing: ApiObject) -> str:
        """Return why an object that is no pod may not be made, "" where it may."""
        kind = KIND_OF[type(thing)]
        if isinstance(thing, Pod) or kind not in COUNTED.values():
            return ""
        namespace = address_of(thing)[1].partition("/")[0]
        refusals = (quota.refusal(_count(quota, kind)) for quota in self._of(namespace))
        return next(filter(None, refusals), "")

    def _complete(self, pod: Pod) -> tuple[PodSpec, str]:
        ranges = self._ranges_of(pod.namespace)
        spec = admitted(pod.spec)
        if not ranges:
            return spec, ""
        parts = completed(_parts(pod.spec), ranges)
        requests, limits = parts.effective()
        wrong = problems(parts, ranges)
        several = f"[{', '.join(wrong)}]" if len(wrong) > 1 else "".join(wrong)
        return replace(spec, requests=requests, limits=limits), over_limit(parts) or several

    def _refusal_of_pod(self, pod: Pod, spec: PodSpec) -> str:
        quotas = [quota for quota in self._of(pod.namespace) if quota.counts(spec)]
        if not quotas:
            return ""
        parts = completed(_parts(pod.spec), self._ranges_of(pod.namespace))
        charged = replace(pod, spec=spec)
        return next(filter(None, (quota.refusal(quota.charge(charged), parts) for quota in quotas)), "")

    def _of(self, namespace: str) -> list[ResourceQuota]:
        found = (self._store.find(where) for where in sorted(self._quotas.get(namespace, ())))
        return [quota for quota in found if isinstance(quota, ResourceQuota)]

    def _ranges_of(self, namespace: str) -> list[LimitRange]:
        return [one for _, one in sorted(self._ranges.get(namespace, {}).items())]

    # --- what happens

    def _range_changed(self, change: Change) -> None:
        self._completed.clear()
        self._alike.clear()
        namespace, _, name = change.address[1].partition("/")
        if isinstance(change.after, LimitRange):
            self._ranges.setdefault(namespace, {})[name] = change.after
        else:
            self._ranges.get(namespace, {}).pop(name, None)

    def _quota_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if not isinstance(after, ResourceQuota):
            if isinstance(before, ResourceQuota):
                self._quotas[before.namespace].pop(change.address)
            return
        self._quotas.setdefault(after.namespace, {})[change.address] = None
        if not isinstance(before, ResourceQuota) or _rules(before) != _rules(after):
            self._store.put(replace(after, used=self._used(after)))

    def _used(self, quota: ResourceQuota) -> Resources:
        used = Resources((name, 0) for name in quota.hard)
        for pod in self._store.all(Pod):
            used = used.plus(quota.charge(pod))
        for kind in dict.fromkeys(COUNTED.values()):
            for thing in self._store.of_kind(kind):
                if address_of(thing)[1].partition("/")[0] == quota.namespace:
                    used = used.plus(_count(quota, kind))
        return used

    def _counted_changed(self, change: Change) -> None:
        namespace = change.address[1].partition("/")[0]
        for quota in self._of(namespace) if namespace in self._quotas else ():
            after, before = _charge(quota, change.after), _charge(quota, change.before)
            if after != before:
                less = Resources((name, -amount) for name, amount in before.items())
                self._store.put(replace(quota, used=quota.used.plus(after).plus(less)))


def admitted(spec: PodSpec) -> PodSpec:
    """Return a spec with what is kept of its parts after admission."""
    kept = spec.parts.admitted if spec.parts is not None else None
    return spec if kept is spec.parts else replace(spec, parts=kept)


def _charge(quota: ResourceQuota, thing: ApiObject | None) -> Resources:
    if thing is None:
        return NOTHING
    return quota.charge(thing) if isinstance(thing, Pod) else _count(quota, KIND_OF[type(thing)])


def _count(quota: ResourceQuota, kind: str) -> Resources:
    """Return what an object of a kind that is only counted takes of a quota; scopes are of pods alone."""
    if quota.scopes:
        return NOTHING
    return Resources((name, 1) for name, counted in COUNTED.items() if counted == kind and name in quota.hard)


def _parts(spec: PodSpec) -> PodParts:
    """Return the parts of a pod, or one container with all its requests where it has none."""
    if spec.parts is not None and spec.parts.containers:
        return spec.parts
    requests = Resources((name, amount) for name, amount in spec.requests.items() if name != PODS)
    return PodParts(containers=(ContainerNeeds(name="all", requests=requests, limits=spec.limits),))


def _rules(quota: ResourceQuota) -> tuple[object, ...]:
    return quota.hard, quota.scopes
