"""Workloads as a watch tells of them where capacity buffers are followed: with what their pods are made from.

One that wants no pods is an object too, unless another makes it: a buffer may refer to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from treenail.adapters.api.core.apps import PodTemplateModel, template_of
from treenail.adapters.api.core.watched_workloads import (
    WatchedReplicaSetModel,
    WatchedReplicaSetSpecModel,
    WatchedStatefulSetModel,
    WatchedStatefulSetSpecModel,
    told,
    watched_replica_set,
    watched_stateful_set,
)
from treenail.adapters.api.metadata import ObjectMeta
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.cluster.workloads import Workload


class TemplatedSpecModel(WatchedReplicaSetSpecModel, kw_only=True):
    """The number of pods a workload wants, and the template they are made from."""

    template: PodTemplateModel


class TemplatedReplicaSetModel(WatchedReplicaSetModel, kw_only=True):
    """apps/v1 ReplicaSet."""

    spec: TemplatedSpecModel


class TemplatedDeploymentModel(WatchedReplicaSetModel, kw_only=True):
    """apps/v1 Deployment."""

    spec: TemplatedSpecModel


class TemplatedStatefulSetSpecModel(WatchedStatefulSetSpecModel, kw_only=True):
    """The number of pods a StatefulSet wants, and the template they are made from."""

    template: PodTemplateModel


class TemplatedStatefulSetModel(WatchedStatefulSetModel, kw_only=True):
    """apps/v1 StatefulSet."""

    spec: TemplatedStatefulSetSpecModel


def templated_replica_set(model: TemplatedReplicaSetModel, reading: Reading) -> Translation:
    """Return the ReplicaSet, nothing where a Deployment has it want no pods."""
    return _with_template(
        "ReplicaSet", watched_replica_set(model, reading), model.metadata, model.spec.template, reading
    )


def templated_stateful_set(model: TemplatedStatefulSetModel, reading: Reading) -> Translation:
    """Return the StatefulSet."""
    return _with_template(
        "StatefulSet", watched_stateful_set(model, reading), model.metadata, model.spec.template, reading
    )


def templated_deployment(model: TemplatedDeploymentModel, reading: Reading) -> Translation:
    """Return the Deployment."""
    known = told("Deployment", model.metadata, model.spec.replicas, "")
    return _with_template("Deployment", known, model.metadata, model.spec.template, reading)


def _with_template(
    kind: str, known: Translation, meta: ObjectMeta, template: PodTemplateModel, reading: Reading
) -> Translation:
    made_by_another = any(owner.controller for owner in meta.owner_references)
    if not known.objects and made_by_another:
        return known
    [found] = known.objects or told(kind, meta, 0, "", idle=True).objects
    read = template_of(template, reading, "spec.template", restart=("Always",))
    pods_only = reading.for_pods_only or cast("Workload", found).for_pods_only
    return Translation(objects=(replace(cast("Workload", found), template=read, for_pods_only=pods_only),))
