"""Workloads that go by where others are: right from the first plan, and nothing bought again and again."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.scenarios.manifests import (
    WAITING_CLASS,
    Manifest,
    changed,
    deployment,
    node_class,
    node_pool,
    text,
    with_claims,
)
from tests.scenarios.watching import expect_whole_traces, told
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.domain.model import labels
from treenail.domain.model.pods import TopologySpread
from treenail.domain.model.storage import PersistentVolume
from treenail.domain.packing.problem import PackingSettings

POD = "spec.template.spec"
# One pod of half a core and its daemons fit a c5.large well, three do not.
POOL = node_pool(families=("c5",), capacity_types=("on-demand",))


def spread(manifest: Manifest, key: str, **more: object) -> Manifest:
    """Return a workload whose pods spread evenly over the domains of `key`."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": manifest["metadata"]["name"]}},
    }
    return changed(manifest, f"{POD}.topologySpreadConstraints", [{**constraint, **more}])


def beside(manifest: Manifest, app: str, key: str, *, kind: str = "podAffinity") -> Manifest:
    """Return a workload whose pods must be (podAntiAffinity: not be) where those of `app` are."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    affinity = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return changed(manifest, f"{POD}.affinity", affinity)


class Play:
    """Workloads rehearsed until all of them run, then for a while, then scaled to nothing."""

    def __init__(self, seed: int, *workloads: Manifest) -> None:
        self._workloads = [w for w in workloads if "replicas" in w.get("spec", {})]
        self.rehearsal = Rehearsal(seed=seed)
        self.rehearsal.apply(text(node_class(), POOL, *workloads))
        wanted = sum(workload["spec"]["replicas"] for workload in self._workloads)
        self.rehearsal.run_until(lambda: self.rehearsal.running() == wanted, within="5m")

    def zone_of(self, app: str) -> dict[str, str]:
        """Return in which zone each pod of a workload is."""
        zones = {node.name: node.labels[labels.ZONE] for node in self.rehearsal.nodes()}
        return {p.name: zones[p.node_name] for p in self.rehearsal.pods() if p.labels["app"] == app}

    def zones(self, app: str) -> Counter[str]:
        """Return how many pods of a workload each zone has."""
        return Counter(self.zone_of(app).values())

    def nodes(self, app: str) -> Counter[str]:
        """Return how many pods of a workload each node has."""
        return Counter(p.node_name for p in self.rehearsal.pods() if p.labels["app"] == app)

    def expect(self, nodes: int) -> None:
        """Check that so many nodes were bought in one go and stay, and that all go when the pods do."""
        rehearsal = self.rehearsal
        calls = rehearsal.ec2.calls["CreateFleet"]
        decided = len(rehearsal.decisions())
        rehearsal.run("20m")
        assert len(rehearsal.history()) == nodes
        assert len(rehearsal.nodes()) == nodes
        assert rehearsal.ec2.calls["CreateFleet"] == calls
        assert len(rehearsal.decisions()) == decided
        bought = [entry for entry in told(rehearsal, "PlanCommitted") if entry.fields["nodeClaims"]]
        assert len(bought) == 1
        for workload in self._workloads:
            rehearsal.scale(workload["metadata"]["name"], 0, kind=workload["kind"])
        rehearsal.run("10m")
        assert (rehearsal.pods(), rehearsal.nodes(), rehearsal.claims()) == ((), (), ())
        assert rehearsal.ec2.live() == ()
        assert {record.cause for record in rehearsal.history()} == {"empty"}
        expect_whole_traces(rehearsal)


@pytest.mark.seeds(quick=3, soak=100)
def test_a_deployment_spread_over_three_zones_gets_a_node_in_each(seed: int) -> None:
    web = spread(deployment("web", 6, cpu="500m"), labels.ZONE, minDomains=3)

    play = Play(seed, web)

    assert sorted(play.zones("web").values()) == [2, 2, 2]
    play.expect(nodes=3)


@pytest.mark.seeds(quick=3, soak=100)
def test_replicas_that_keep_apart_get_a_node_each(seed: int) -> None:
    web = beside(deployment("web", 4, cpu="500m"), "web", labels.HOSTNAME, kind="podAntiAffinity")

    play = Play(seed, web)

    assert set(play.nodes("web").values()) == {1}
    play.expect(nodes=4)


@pytest.mark.seeds(quick=3, soak=100)
def test_a_deployment_goes_to_the_zone_of_the_one_it_must_be_near(seed: int) -> None:
    database = beside(deployment("db", 1), "web", labels.HOSTNAME, kind="podAntiAffinity")
    web = beside(deployment("web", 2, cpu="500m"), "db", labels.ZONE)

    play = Play(seed, web, database)

    assert play.zones("web").keys() == play.zones("db").keys()
    assert not play.nodes("web").keys() & play.nodes("db").keys()
    play.expect(nodes=2)


@pytest.mark.seeds(quick=3, soak=100)
def test_replicas_with_a_host_port_get_a_node_each(seed: int) -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}]
    web = changed(deployment("web", 3, cpu="500m"), f"{POD}.containers.0.ports", ports)

    play = Play(seed, web)

    assert set(play.nodes("web").values()) == {1}
    play.expect(nodes=3)


@pytest.mark.seeds(quick=3, soak=100)
def test_a_stateful_set_with_claims_gets_its_volumes_where_its_pods_go(seed: int) -> None:
    database = spread(with_claims(deployment("db", 3, cpu="500m")), labels.ZONE, minDomains=3)

    play = Play(seed, WAITING_CLASS, database)

    assert sorted(play.zones("db").values()) == [1, 1, 1]
    volumes = play.rehearsal.cluster.objects(PersistentVolume)
    assert len({volume.node_affinity for volume in volumes}) == 3
    play.expect(nodes=3)


def test_the_pods_of_a_stateful_set_come_back_to_the_zones_of_their_volumes() -> None:
    database = spread(with_claims(deployment("db", 3, cpu="500m")), labels.ZONE, minDomains=3)
    play = Play(1, WAITING_CLASS, database)
    rehearsal = play.rehearsal
    stood = play.zone_of("db")
    rehearsal.scale("db", 0, kind="StatefulSet")
    rehearsal.run("10m")
    assert rehearsal.nodes() == ()

    rehearsal.scale("db", 3, kind="StatefulSet")
    rehearsal.run_until(lambda: rehearsal.running() == 3, within="5m")

    assert play.zone_of("db") == stood
    assert len(rehearsal.nodes()) == 3


def test_pods_without_a_spread_are_bought_for_as_the_scheduler_spreads_them_by_default() -> None:
    over_zones = TopologySpread(topology_key=labels.ZONE, max_skew=1, hard=True)
    packing = PackingSettings(default_spread=(over_zones,))
    system = SystemSettings(cluster_name="demo", packing=packing)
    zones: dict[bool, list[int]] = {}
    for spread_by_default in (False, True):
        with Rehearsal(
            seed=1, conditions=Conditions(system=system) if spread_by_default else None
        ) as rehearsal:
            rehearsal.apply(text(node_class(), POOL, deployment(replicas=6, cpu="1500m")))
            rehearsal.run_until(lambda: rehearsal.running() == 6, within="3m")
            zones[spread_by_default] = sorted(Counter(one.zone for one in rehearsal.history()).values())

    assert len(zones[False]) < 3
    assert zones[True] == [zones[True][0]] * 3
