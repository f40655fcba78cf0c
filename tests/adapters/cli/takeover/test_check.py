from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.adapters.cli.api_server import kubeconfig
from tests.adapters.cli.command import Ran, treenail
from tests.adapters.cli.takeover.estates import (
    TAGGED,
    Tree,
    claim,
    condition,
    definition,
    deployment,
    lease,
    node,
    node_class,
    pool,
    webhook,
)
from tests.adapters.kubernetes.scripted import Reply, ScriptedServer, status
from treenail.adapters.cli.output_format import OutputFormat
from treenail.adapters.cli.takeover.findings import Finding, Verdict, print_findings
from treenail.adapters.cli.takeover.karpenter_settings import chart_value
from treenail.adapters.settings.settings import VARIABLES

ROOT = Path(__file__).resolve().parents[4]


def run(folder: Path, *trees: Tree, output: str = "json", command: str = "check") -> Ran:
    file = folder / "estate.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(trees)}))
    return treenail("takeover", command, "-f", str(file), "-o", output)


def found(folder: Path, *trees: Tree, command: str = "check") -> dict[str, tuple[str, str]]:
    """What becomes of each object and setting, and why."""
    ran = run(folder, *trees, command=command)
    assert ran.complaint == ""
    report = json.loads(ran.out)
    assert ran.code == int(report["inTheWay"])
    return {one["about"]: (one["verdict"], one["why"]) for one in report["findings"]}


def test_a_cluster_that_karpenter_runs_is_adopted_as_it_is(tmp_path: Path) -> None:
    trees = (deployment(), lease("karpenter-0"), pool(), node_class(), claim(), node())

    ran = run(tmp_path, *trees, output="table")

    assert (ran.code, ran.complaint) == (0, "")
    scale = "kubectl -n kube-system scale deployment karpenter --replicas=0"
    held = "held by karpenter-0, renewed at 2026-11-23T07:00:00Z"
    ours = "ours must use it too: install into kube-system, or set leaderElection.namespace=kube-system"
    assert ran.out.splitlines() == [
        "WHO RUNS",
        f"  to do           Deployment kube-system/karpenter: runs: when you take over, {scale}",
        f"  to do           Lease kube-system/karpenter-leader-election: {held}; {ours}",
        "SETTINGS",
        "  same            CLUSTER_NAME=demo: the same variable, settings.clusterName in the chart",
        "POOLS AND NODE CLASSES",
        "  adopted         EC2NodeClass default",
        "  adopted         NodePool default",
        "CLAIMS AND NODES",
        "  adopted         NodeClaim default-1: hashes of version v3 are not compared, but noted anew",
        "  adopted         Node ip-default-1",
        "Nothing is in the way.",
    ]


def test_a_lease_that_treenail_holds_asks_for_nothing_more(tmp_path: Path) -> None:
    told = found(tmp_path, deployment(), lease("treenail_host_1b4e28ba"), pool())

    assert told["Lease kube-system/karpenter-leader-election"] == ("same", "held by Treenail (host_1b4e28ba)")


def test_alike_claims_are_one_line_of_the_table(tmp_path: Path) -> None:
    claims = [claim(f"c-{n}") for n in range(500)]

    out = run(tmp_path, pool(), node_class(), *claims, output="table").out

    assert "  adopted         500 NodeClaims (c-0, c-1, ...): hashes of version v3" in out
    assert len(out.splitlines()) < 10


@pytest.mark.parametrize(
    ("name", "value", "verdict", "why"),
    [
        ("INTERRUPTION_QUEUE", "q", "same", "settings.interruptionQueue in the chart"),
        ("BATCH_MAX_DURATION", "soon", "first", "settings.batchMaxDuration in the chart"),
        ("ENABLE_ZONAL_SHIFT", "true", "same", "settings.enableZonalShift in the chart"),
        ("ENABLE_ZONAL_SHIFT", "false", "same", ""),
        ("ASSUME_ROLE_DURATION", "1h", "no effect", "changes nothing here"),
        ("DISABLE_DRY_RUN", "true", "same", "settings.disableDryRun in the chart"),
        ("IGNORE_DRA_REQUESTS", "false", "same", "settings.ignoreDRARequests in the chart"),
        ("LOG_ERROR_OUTPUT_PATHS", "stderr", "same", "the default"),
    ],
)
def test_each_setting_says_what_becomes_of_it(
    tmp_path: Path, name: str, value: str, verdict: str, why: str
) -> None:
    by_variable = found(tmp_path, deployment(env={name: value}))[f"{name}={value}"]
    flag = f"--{name.lower().replace('_', '-')}"

    assert (by_variable[0], why in by_variable[1]) == (verdict, True)
    for args in ([f"{flag}={value}"], [flag, value, "--log-level", "debug"]):
        assert found(tmp_path, deployment(args=args))[f"{name}={value}"] == by_variable


def test_the_chart_has_each_value_that_is_named() -> None:
    chart = yaml.safe_load((ROOT / "deploy/chart/values.yaml").read_text())
    ours = {"CLOUD", "KUBECONFIG", "KUBE_CONTEXT", "SYSTEM_NAMESPACE", "KARPENTER_SERVICE", "STATE_DIRECTORY"}
    settings = {one.name for one in VARIABLES} - ours
    named = [chart_value(one) for one in sorted(settings) if not one.startswith(("OTEL_", "WEBHOOK_URL"))]

    for value in named:
        found = chart
        for key in value.split("."):
            assert key in found, value
            found = found[key]


def test_feature_gates_are_told_one_by_one(tmp_path: Path) -> None:
    gates = "NodeRepair=true,NodeOverlay=true,ReservedCapacity=true,StaticCapacity=true"
    gates += ",Drift=false,Antigravity=true"

    told = found(tmp_path, deployment(env={"FEATURE_GATES": gates}))

    verdicts = {about.split()[1]: told[about][0] for about in told if about.startswith("FEATURE_GATES")}
    assert verdicts == {
        "NodeRepair=true": "same",
        "ReservedCapacity=true": "same",
        "NodeOverlay=true": "same",
        "StaticCapacity=true": "same",
        "Drift=false": "not supported",
        "Antigravity=true": "no effect",
    }


def test_the_value_of_what_is_no_setting_is_not_shown(tmp_path: Path) -> None:
    elsewhere = {"name": "CLUSTER_ENDPOINT", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    tree = deployment(env={"AWS_SECRET_ACCESS_KEY": "hush"})
    tree["spec"]["template"]["spec"]["containers"][0]["env"].append(elsewhere)

    ran = run(tmp_path, tree)

    assert "hush" not in ran.out
    told = found(tmp_path, tree)
    assert told["AWS_SECRET_ACCESS_KEY"][0] == told["CLUSTER_ENDPOINT"][0] == "to do"


def test_the_config_map_of_old_is_told_by_variable(tmp_path: Path) -> None:
    data = {"aws.interruptionQueueName": "q", "aws.enablePodENI": "true", "batchMaxDuration": "never"}
    metadata = {"name": "karpenter-global-settings", "namespace": "karpenter"}
    told = found(tmp_path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    assert told["karpenter-global-settings aws.interruptionQueueName"][0] == "same"
    assert "INTERRUPTION_QUEUE" in told["karpenter-global-settings aws.interruptionQueueName"][1]
    assert told["karpenter-global-settings aws.enablePodENI"][0] == "no effect"
    assert told["karpenter-global-settings batchMaxDuration"][0] == "first"


@pytest.mark.parametrize(
    ("env", "replicas", "verdict"),
    [
        ({}, 2, "to do"),
        ({}, 0, "same"),
        ({"DISABLE_LEADER_ELECTION": "true"}, 1, "first"),
        ({"LEADER_ELECT": "false"}, 1, "first"),
        ({"DISABLE_LEADER_ELECTION": "true"}, 0, "same"),
    ],
)
def test_karpenter_without_election_must_be_stopped_first(
    tmp_path: Path, env: dict[str, str], replicas: int, verdict: str
) -> None:
    told = found(tmp_path, deployment(env=env, replicas=replicas))

    assert told["Deployment kube-system/karpenter"][0] == verdict


@pytest.mark.parametrize(
    ("versions", "stored", "path", "verdict", "why"),
    [
        (("v1",), ("v1",), "", "same", "serves v1, stored in v1"),
        (("v1beta1",), ("v1beta1",), "", "first", "apply the definitions of deploy/crds"),
        (
            ("v1beta1", "v1"),
            ("v1beta1", "v1"),
            "/conversion/karpenter.sh",
            "first",
            "Karpenter's webhook goes",
        ),
        (("v1beta1", "v1"), ("v1",), "/conversion/karpenter.sh", "same", "stored in v1"),
        (("v1beta1", "v1"), ("v1beta1",), "/convert", "to do", "treenail takeover convert"),
    ],
)
def test_definitions_say_what_is_stored_and_what_to_do(
    tmp_path: Path, versions: tuple[str, ...], stored: tuple[str, ...], path: str, verdict: str, why: str
) -> None:
    tree = definition("NodePool", "nodepools", versions=versions, stored=stored, path=path)

    told = found(tmp_path, tree)["nodepools.karpenter.sh"]

    assert (told[0], why in told[1]) == (verdict, True)


def drifted(reason: str) -> tuple[Tree, ...]:
    return (condition("Drifted", "True", reason),)


@pytest.mark.parametrize(
    ("tree", "verdict", "why"),
    [
        (claim(), "adopted", "hashes of version v3 are not compared"),
        (claim(stamped="treenail.sh/v1"), "drifts", "NodePoolDrifted"),
        (claim(conditions=drifted("NodePoolDrifted")), "drifts", "NodePoolDrifted"),
        (claim(conditions=drifted("AMIDrift")), "drifts", "AMIDrift"),
        (claim(labels={"karpenter.sh/nodepool": "default"}), "adopted", ""),
        (
            claim(labels={"karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": "on-demand"}),
            "drifts",
            "RequirementsDrifted",
        ),
        (claim(labels={"karpenter.sh/nodepool": "gone"}), "left alone", "its pool 'gone' is not there"),
        (claim(labels={}), "adopted", ""),
        ({**claim(), "status": {}}, "first", "wait until Karpenter has launched it"),
        (
            claim(deletionTimestamp="2026-11-23T07:00:00Z", deletionGracePeriodSeconds=0),
            "to do",
            "is being deleted",
        ),
    ],
)
def test_claims_are_adopted_or_say_why_not(tmp_path: Path, tree: Tree, verdict: str, why: str) -> None:
    told = found(tmp_path, pool(), node_class(), tree)["NodeClaim default-1"]

    assert (told[0], why in told[1]) == (verdict, True)


def test_what_is_not_understood_names_the_field_and_is_in_the_way(tmp_path: Path) -> None:
    told = found(tmp_path, pool(limits={"cpu": "-4"}), node_class())

    assert told["NodePool default"] == ("not understood", 'spec.limits.cpu: "-4" must not be negative')


def test_what_is_not_acted_on_is_told_and_not_in_the_way(tmp_path: Path) -> None:
    buffer = {
        "apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "CapacityBuffer",
        "metadata": {"name": "o"},
        "spec": {"scalableRef": {"kind": "Deployment", "name": "web"}, "replicas": 1},
    }

    told = found(tmp_path, pool(replicas=2), node_class(), buffer)

    why = "acted on only with FEATURE_GATES=StaticCapacity=true: spec.replicas"
    assert told["NodePool default"] == ("not supported", why)
    assert told["CapacityBuffer o"][0] == "adopted"


def test_a_node_overlay_that_is_understood_is_not_in_the_way(tmp_path: Path) -> None:
    overlay = {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "o"},
        "spec": {"requirements": [], "price": "1"},
    }

    told = found(tmp_path, pool(), node_class(), overlay)

    assert told.get("NodeOverlay o", ("same", ""))[0] != "not supported"
    assert not any(verdict == "not understood" for verdict, _ in told.values())


def test_nodes_without_a_claim_are_left_alone(tmp_path: Path) -> None:
    told = found(tmp_path, pool(), node_class(), claim(), node(finalizers=()), node("lone"))

    assert told["Node ip-default-1"] == ("adopted", "has no finalizer of Karpenter's yet: it is given one")
    assert told["Node ip-lone"] == ("left alone", "no claim stands for it")


# --- a cluster as it is now


def test_a_claim_whose_instance_may_lack_the_tag_of_the_cluster_is_to_be_tagged(tmp_path: Path) -> None:
    early = claim()
    del early["metadata"]["annotations"][TAGGED]

    verdict, why = found(tmp_path, pool(), node_class(), early)["NodeClaim default-1"]

    assert verdict == "to do"
    tag = "Key=eks:eks-cluster-name,Value=CLUSTER"
    assert f"aws ec2 create-tags --resources i-default-1 --tags {tag}" in why


def test_webhooks_that_refuse_writes_while_karpenter_is_away_are_to_be_deleted(tmp_path: Path) -> None:
    theirs = webhook("ValidatingWebhookConfiguration", "karpenter.sh")
    others = webhook("MutatingWebhookConfiguration", "example.com")

    told = found(tmp_path, theirs, others)

    assert list(told) == ["ValidatingWebhookConfiguration hook.karpenter.sh"]
    verdict, why = told["ValidatingWebhookConfiguration hook.karpenter.sh"]
    assert verdict == "to do"
    assert "kubectl delete ValidatingWebhookConfiguration hook.karpenter.sh" in why


@pytest.mark.parametrize(
    "image",
    [
        "public.ecr.aws/karpenter/controller",
        "public.ecr.aws/karpenter/controller@sha256:0",
        "registry.example:5000/karpenter/controller",
        "registry.example:5000/karpenter/controller:1.14.0@sha256:0",
    ],
)
def test_karpenter_is_known_by_its_image(tmp_path: Path, image: str) -> None:
    assert "Deployment kube-system/karpenter" in found(tmp_path, deployment(image=image))


def test_variables_of_a_whole_object_are_found_whatever_comes_first(tmp_path: Path) -> None:
    sources = [{"prefix": "AWS_", "configMapRef": {"name": "of-aws"}}, {"secretRef": {"name": "of-ours"}}]

    told = found(tmp_path, deployment(envFrom=sources))

    assert {"all of of-aws", "all of of-ours"} <= set(told)


@pytest.mark.parametrize("command", ["check", "back"])
def test_files_with_nothing_of_karpenters_are_bad_input(tmp_path: Path, command: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}

    ran = run(tmp_path, pod, command=command)

    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint == "treenail: nothing of Karpenter's was found\n"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


PATHS = {
    "Deployment": "/apis/apps/v1/deployments",
    "Lease": "/apis/coordination.k8s.io/v1/leases",
    "NodePool": "/apis/karpenter.sh/v1/nodepools",
    "NodeClaim": "/apis/karpenter.sh/v1/nodeclaims",
    "EC2NodeClass": "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    "Node": "/api/v1/nodes",
}


def serve(server: ScriptedServer, *trees: Tree) -> None:
    for path in PATHS.values():
        server.objects[path] = []
    for tree in trees:
        items: dict[str, Any] = {k: v for k, v in tree.items() if k not in ("apiVersion", "kind")}
        server.objects[PATHS[tree["kind"]]].append(items)


def test_a_cluster_is_read_and_never_written(server: ScriptedServer, tmp_path: Path) -> None:
    trees = (deployment(), lease("karpenter-0"), pool(), node_class(), claim(), node())
    serve(server, *trees)

    ran = treenail("takeover", "check", "--kubeconfig", kubeconfig(tmp_path, server.url), "-o", "json")

    assert (ran.code, ran.complaint) == (0, "")
    assert json.loads(ran.out) == json.loads(run(tmp_path, *trees).out)
    assert {one.method for one in server.asked} == {"GET"}


def test_a_kind_whose_conversion_fails_is_told_of(server: ScriptedServer, tmp_path: Path) -> None:
    serve(server, node_class())
    failed = status(500, message="conversion webhook for karpenter.sh/v1beta1 failed")
    server.answers(PATHS["NodePool"], *[failed] * 4)

    ran = treenail("takeover", "check", "--kubeconfig", kubeconfig(tmp_path, server.url))

    assert ran.code == 1
    assert "first           nodepools: its objects cannot be read" in ran.out


def test_a_cluster_that_cannot_be_read_is_bad_input(server: ScriptedServer, tmp_path: Path) -> None:
    server.answers("/api/v1/nodes", Reply(403, b"{}"))

    ran = treenail("takeover", "check", "--kubeconfig", kubeconfig(tmp_path, server.url))

    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint.startswith("treenail: the cluster cannot be read: ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_findings_are_wrapped_at_the_width_of_a_terminal_and_nothing_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout", terminal := Terminal())
    why = "runs: kubectl -n kube-system scale deployment karpenter --replicas=0"

    print_findings([Finding("who runs", "Deployment a/b", Verdict.TO_DO, why)], OutputFormat.TABLE)

    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[:2] == ["WHO RUNS", "  to do           Deployment a/b: runs: kubectl -n"]
    assert " ".join(line.strip() for line in lines[1:-1]) == f"to do           Deployment a/b: {why}"


# --- going back


@pytest.mark.parametrize("command", ["check", "back"])
def test_what_serves_no_nodes_is_not_taken_for_an_empty_cluster(
    server: ScriptedServer, tmp_path: Path, command: str
) -> None:
    server.answers(PATHS["Node"], status(404))

    ran = treenail("takeover", command, "--kubeconfig", kubeconfig(tmp_path, server.url))

    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint == "treenail: the cluster cannot be read: nodes are not served there\n"


def test_what_cannot_be_understood_is_in_the_way_of_going_back(tmp_path: Path) -> None:
    odd = claim()
    odd["spec"]["requirements"][0]["operator"] = "Like"

    verdict, why = found(tmp_path, odd, command="back")["NodeClaim default-1"]

    assert (verdict, "Like" in why) == ("not understood", True)


@pytest.mark.parametrize("command", ["check", "back"])
def test_a_kind_of_karpenters_group_that_is_not_known_is_in_the_way(tmp_path: Path, command: str) -> None:
    verdict, why = found(tmp_path, pool(), node_class(), {**pool(), "kind": "NodePol"}, command=command)[
        "NodePol default"
    ]

    assert (verdict, "did you mean NodePool?" in why) == ("not understood", True)


def test_pools_without_claims_have_nothing_in_the_way_of_going_back(tmp_path: Path) -> None:
    ran = run(tmp_path, pool(), node_class(), output="table", command="back")

    assert (ran.code, ran.out, ran.complaint) == (0, "Nothing is in the way.\n", "")


def test_what_cannot_be_read_is_in_the_way_of_going_back(server: ScriptedServer, tmp_path: Path) -> None:
    serve(server, node_class())
    server.answers(PATHS["NodePool"], *[status(500, message="conversion webhook failed")] * 4)

    ran = treenail("takeover", "back", "--kubeconfig", kubeconfig(tmp_path, server.url))

    assert ran.code == 1
    assert "first           nodepools: cannot be read" in ran.out


def test_a_cluster_that_treenail_runs_goes_back_as_it_is(tmp_path: Path) -> None:
    ours = deployment(image="treenail:1", replicas=0)
    trees = (ours, pool(stamped="treenail.sh/v1"), node_class(), claim(stamped="treenail.sh/v1"))

    told = found(tmp_path, *trees, command="back")

    assert told == {
        "Deployment kube-system/treenail": ("same", "is scaled to 0"),
        "NodeClaim default-1": ("adopted", ""),
    }


@pytest.mark.parametrize(
    ("trees", "about", "verdict"),
    [
        ((deployment(image="treenail:1"),), "Deployment kube-system/treenail", "to do"),
        (
            (definition("NodePool", "nodepools", versions=("v1beta1", "v1"), stored=("v1beta1", "v1")),),
            "nodepools.karpenter.sh",
            "first",
        ),
        (
            (
                definition(
                    "NodePool", "nodepools", versions=("v1beta1", "v1"), stored=("v1",), path="/convert"
                ),
            ),
            "nodepools.karpenter.sh",
            "to do",
        ),
        ((pool(), claim(stamped="treenail.sh/v1")), "NodePool default", "first"),
        ((claim(conditions=(condition("Drifted", "False", "NotDrifted"),)),), "NodeClaim default-1", "first"),
        ((claim(conditions=drifted("AMIDrift")),), "NodeClaim default-1", "drifts"),
        (({**claim(), "status": {}},), "NodeClaim default-1", "first"),
    ],
)
def test_what_karpenter_would_trip_over_is_named(
    tmp_path: Path, trees: tuple[Tree, ...], about: str, verdict: str
) -> None:
    assert found(tmp_path, *trees, command="back")[about][0] == verdict


def test_only_what_matters_is_put_right_and_only_on_the_users_word(
    server: ScriptedServer, tmp_path: Path
) -> None:
    left = claim("c-0", stamped="treenail.sh/v1", conditions=(condition("Drifted", "False", "NotDrifted"),))
    left["metadata"]["resourceVersion"] = "7"
    serve(server, pool(), node_class(), left, claim("c-1"))
    config = kubeconfig(tmp_path, server.url)

    assert treenail("takeover", "back", "--kubeconfig", config).code == 1
    assert {one.method for one in server.asked} == {"GET"}

    path = f"{PATHS['NodeClaim']}/c-0"
    server.answers(path, Reply(body=json.dumps(left).encode()))
    server.answers(f"{path}/status", Reply(body=json.dumps(left).encode()))
    server.answers(f"{PATHS['NodePool']}/default", Reply(body=json.dumps(pool()).encode()))
    treenail("takeover", "back", "--apply", "--kubeconfig", config)

    writes = {one.path: json.loads(one.body) for one in server.asked if one.method != "GET"}
    assert writes == {
        f"{path}/status": {"metadata": {"resourceVersion": "7"}, "status": {"conditions": []}},
        f"{PATHS['NodePool']}/default": {
            "metadata": {"annotations": {"karpenter.sh/nodepool-hash-version": None}}
        },
    }


def test_a_claim_is_told_the_profile_that_karpenter_would_delete(
    server: ScriptedServer, tmp_path: Path
) -> None:
    named = {"karpenter.k8s.aws/instance-profile-name": "demo_1"}
    ready = {**node_class(), "status": {"instanceProfile": "demo_1"}}
    theirs = claim("c-1", annotations=named)
    ours = claim("c-0")
    ours["metadata"]["resourceVersion"] = "7"
    serve(server, ready, ours, theirs)
    config = kubeconfig(tmp_path, server.url)

    ran = treenail("takeover", "back", "--kubeconfig", config, "-o", "json")
    told = [one["about"] for one in json.loads(ran.out)["findings"] if one["verdict"] == "to do"]
    assert (ran.code, told) == (0, ["NodeClaim c-0"])

    path = f"{PATHS['NodeClaim']}/c-0"
    server.answers(path, Reply(body=json.dumps(ours).encode()))
    treenail("takeover", "back", "--apply", "--kubeconfig", config)

    writes = {one.path: json.loads(one.body) for one in server.asked if one.method != "GET"}
    assert writes == {path: {"metadata": {"annotations": named}}}


def test_the_taint_of_nodes_that_were_to_go_later_is_taken_off_and_no_other(
    server: ScriptedServer, tmp_path: Path
) -> None:
    own = {"key": "team", "value": "a", "effect": "NoSchedule"}
    left = node("n-0")
    left["metadata"]["resourceVersion"] = "7"
    left["spec"]["taints"] = [{"key": "treenail.sh/goes-later", "effect": "PreferNoSchedule"}, own]
    other = node("n-1")
    other["spec"]["taints"] = [own]
    serve(server, pool(), node_class(), claim("c-0"), left, other)
    config = kubeconfig(tmp_path, server.url)

    ran = treenail("takeover", "back", "--kubeconfig", config)
    assert ran.code == 0
    assert re.search(r"to do +Node ip-n-0: bears our taint treenail.sh/goes-later", ran.out)
    assert "n-1" not in ran.out

    path = f"{PATHS['Node']}/ip-n-0"
    server.answers(path, Reply(body=json.dumps(left).encode()))
    treenail("takeover", "back", "--apply", "--kubeconfig", config)

    writes = {one.path: json.loads(one.body) for one in server.asked if one.method != "GET"}
    assert [(at, written["spec"]["taints"]) for at, written in writes.items()] == [(path, [own])]


def test_files_cannot_be_put_right(tmp_path: Path) -> None:
    file = tmp_path / "estate.json"
    file.write_text(json.dumps(pool()))

    ran = treenail("takeover", "back", "--apply", "-f", str(file))

    assert (ran.code, ran.complaint) == (2, "treenail: --apply changes a cluster: leave out -f\n")
