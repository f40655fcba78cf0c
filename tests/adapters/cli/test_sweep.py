from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.adapters.cli.command import treenail
from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from treenail.adapters.cli.rehearsal_options import RehearsalOptions
from treenail.adapters.cli.rehearsals import rehearse_all
from treenail.adapters.embed.seed_results import result_of

WEB = ("-f", "web.yaml")
JOB = ("--kubernetes", "--shares", "2", "--image", "t:1")
QUICK = ("--for", "2m", "--processes", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a spot pool, one on demand, and a workload that is scaled down later."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JOB_COMPLETION_INDEX", raising=False)
    write("web.yaml", node_class(), node_pool(), deployment())
    write("dear.yaml", node_pool("dear", capacity_types=["on-demand"]))
    write("later.yaml", deployment(replicas=5))
    return tmp_path


def write(name: str, *manifests: Manifest) -> None:
    Path(name).write_text(text(*manifests))


def swept(*arguments: str, code: int = 0) -> dict[str, Any]:
    ran = treenail("sweep", "-f", "web.yaml", *QUICK, *arguments, "-o", "json")
    assert (ran.code, ran.err) == (code, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def share(index: int, *arguments: str) -> str:
    ran = treenail("sweep", "-f", "web.yaml", *QUICK, *arguments, "--index", f"{index}")
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def test_each_seed_is_what_its_rehearsal_says() -> None:
    found = swept("--seeds", "3-4")

    assert [one["seed"] for one in found["seeds"]] == [3, 4]
    for one in found["seeds"]:
        alone = json.loads(
            treenail(
                "rehearse", "-f", "web.yaml", "--for", "2m", "--seed", f"{one['seed']}", "-o", "json"
            ).out
        )
        assert one["a"]["cost"] == alone["summary"]["cost"]
        assert one["a"]["p99Wait"] == alone["summary"]["pendingSeconds"]["p99"]
        assert one["a"]["nodesMost"] == alone["summary"]["nodesMost"]
    costs = sorted(one["a"]["cost"] for one in found["seeds"])
    assert (found["a"]["cost"]["min"], found["a"]["cost"]["max"]) == (costs[0], costs[1])


def test_worker_processes_give_the_same_results_in_the_order_of_the_seeds() -> None:
    [run] = RehearsalOptions(files=("web.yaml",), duration="1m").runs()
    runs = [replace(run, seed=seed) for seed in (5, 2, 9)]

    here = list(rehearse_all(runs, result_of, processes=1))
    there = list(rehearse_all(runs, result_of, processes=2))

    assert [one.seed for one in there] == [5, 2, 9]
    assert there == here


def test_a_condition_that_holds_with_a_seed_ends_with_exit_code_1_and_names_it() -> None:
    passing = swept("--seeds", "1-2", "--fail-if", "pending>0")
    found = swept("--seeds", "1-2", "--fail-if", "pending>0", "--fail-if", "cost > 0", code=1)

    assert passing["failed"] == []
    assert found["failed"] == [{"condition": "cost > 0", "side": "a", "seeds": [1, 2]}]


def test_the_worst_seeds_are_repeated_by_the_commands_that_are_named() -> None:
    found = swept("--seeds", "1-3", "--at", "90s", "scale=web:5", "--setting", "BATCH_IDLE_DURATION=3s")
    worst = found["a"]["cost"]["worstSeed"]
    [command] = [one["command"] for one in found["worst"] if one["seed"] == worst]

    again = json.loads(treenail(*shlex.split(command)[1:], "-o", "json").out)

    assert command.startswith("treenail rehearse -f web.yaml --for 2m --at 90s scale=web:5 ")
    assert round(again["cost"], 6) == found["a"]["cost"]["max"]


def test_a_command_leaves_out_what_could_not_be_done_with_its_seed() -> None:
    found = swept("--seeds", "1-2", "--at", "1m", "terminate=nobody", "--at", "30s", "spot-interruption")

    assert [one.partition(":")[0] for one in found["skipped"]][-1] == "at 60 s terminate=nobody"
    for one in found["worst"]:
        assert "terminate" not in one["command"]
        assert treenail(*shlex.split(one["command"])[1:]).code == 0


def test_two_sides_are_rehearsed_with_the_same_seeds() -> None:
    found = swept("--seeds", "1-2", "--with", "dear.yaml")

    assert found["cheaper"] == "a"
    assert found["b"]["cost"]["higher"] == 2
    assert {one["side"] for one in found["worst"]} == {"a", "b"}
    assert all(
        one["command"].startswith("treenail compare -f web.yaml --with dear") for one in found["worst"]
    )


@pytest.mark.parametrize("sides", [(), ("--with", "dear.yaml")])
def test_shares_merged_in_any_order_are_the_same_as_one_run(sides: tuple[str, ...]) -> None:
    arguments = (*sides, "--seeds", "1-3", "--at", "1m", "scale=web:9")
    for index in range(2):
        Path(f"{index}.log").write_text(
            "treenail: warning: of a pod\n" + share(index, *arguments, "--shares", "2")
        )

    for more in (("--fail-if", "nodesMost>0"), ("-o", "json")):
        whole = treenail("sweep", "-f", "web.yaml", *QUICK, *arguments, *more)
        merged = treenail("sweep", *(part for n in (1, 0, 1) for part in ("--merge", f"{n}.log")), *more)
        assert merged == whole
        assert whole.out


def test_a_pod_knows_its_share_by_its_completion_index(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("-f", "web.yaml", *QUICK, "--seeds", "1-4", "--shares", "2")
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")

    lines = [json.loads(line) for line in treenail("sweep", *arguments).out.splitlines()]

    assert [line["result"]["seed"] for line in lines[1:]] == [2, 4]


def test_a_merge_refuses_what_is_missing_and_what_is_of_another_sweep() -> None:
    one = share(0, "--seeds", "1-4", "--shares", "2")
    Path("one.log").write_text(one)
    Path("other.log").write_text(share(1, "--seeds", "1-4", "--shares", "2", "--at", "1m", "crash"))
    Path("changed.log").write_text(
        one + one.splitlines()[-1].replace('"evictions":0', '"evictions":9') + "\n"
    )
    Path("cut.log").write_text(one[:-20])

    def complaint(*files: str) -> str:
        ran = treenail("sweep", *(part for file in files for part in ("--merge", file)))
        assert (ran.code, ran.out) == (2, "")
        return ran.err

    assert "one.log: 2 of 4 seeds are missing: 2, 4. " in complaint("one.log")
    assert "other.log: line 1: is of another sweep than what comes before it" in complaint(
        "one.log", "other.log"
    )
    assert "changed.log: line 4: seed 3 has other results before" in complaint("changed.log")
    assert "cut.log: line 3: is no result of a share" in complaint("cut.log")
    assert "web.yaml: line 1: is no result of a share" in complaint("web.yaml")
    assert "there is no such file" in complaint("none.log")


@pytest.mark.parametrize(
    ("of", "field", "value", "complaint"),
    [
        ("sweep", "last", 10**18, "are not 1 to 100,000 seeds"),
        ("sweep", "last", 10**30, "line 1: is no result of a share"),
        ("sweep", "last", 0, "are not 1 to 100,000 seeds"),
        ("sweep", "first", -3, "are not 1 to 100,000 seeds"),
        ("options", "files", [], "the options name no files"),
        ("options", "files", "web.yaml", "line 1: is no result of a share"),
        ("options", "podWrites", "many", "line 1: is no result of a share"),
        ("result", "seed", 7, "line 2: no such seed and side are swept"),
        ("result", "cost", "much", "line 2: is no result of a share"),
        ("line", "side", "b", "line 2: no such seed and side are swept"),
    ],
)
def test_a_merge_refuses_odd_headers_and_results(of: str, field: str, value: object, complaint: str) -> None:
    header, line = (json.loads(one) for one in share(0, "--seeds", "1-1", "--shares", "1").splitlines())
    parts = {"sweep": header["sweep"], "options": header["sweep"]["options"], "line": line}
    ({**parts, "result": line["result"]}[of])[field] = value
    Path("odd.log").write_text(f"{json.dumps(header)}\n{json.dumps(line)}\n")

    ran = treenail("sweep", "--merge", "odd.log")

    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err


def test_a_merge_prints_odd_names_of_files_as_they_are() -> None:
    text = share(0, "--seeds", "1-1", "--shares", "1").replace("web.yaml", "[red] [link=x]")
    Path("odd.log").write_text(text)

    ran = treenail("sweep", "--merge", "odd.log")

    assert (ran.code, ran.err) == (0, "")
    assert "[red] [link=x]" in ran.out


def test_the_job_calls_each_pod_with_options_that_work_in_the_folder_it_mounts(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pools").mkdir()
    Path("web.yaml").rename("pools/web.yaml")
    arguments = ("-f", "pools", "--with", f"{folder}/dear.yaml", "--at", "1m", "apply=later.yaml")

    ran = treenail(
        "sweep",
        *arguments,
        "--for",
        "2m",
        "--seeds",
        "1-4",
        "--kubernetes",
        "--shares",
        "2",
        "--image",
        "t:1",
    )
    files, job = yaml.safe_load_all(ran.out)

    assert (ran.code, ran.err) == (0, "")
    [container] = job["spec"]["template"]["spec"]["containers"]
    [volume] = job["spec"]["template"]["spec"]["volumes"]
    assert volume["configMap"]["name"] == files["metadata"]["name"]
    mounted = tmp_path_factory.mktemp("mounted")
    for item in volume["configMap"]["items"]:
        path = mounted / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files["data"][item["key"]])
    monkeypatch.chdir(mounted)
    for index in range(job["spec"]["completions"]):
        monkeypatch.setenv("JOB_COMPLETION_INDEX", f"{index}")
        Path(f"{index}.log").write_text(treenail(*container["args"]).out)
    monkeypatch.delenv("JOB_COMPLETION_INDEX")

    merged = json.loads(treenail("sweep", "--merge", "0.log", "--merge", "1.log", "-o", "json").out)
    monkeypatch.chdir(folder)
    whole = json.loads(
        treenail("sweep", *arguments, "--for", "2m", "--seeds", "1-4", "--processes", "1", "-o", "json").out
    )
    assert merged["seeds"] == whole["seeds"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "sweep needs -f FILE, or --merge FILE with the results of shares"),
        (("-f", "none.yaml"), "none.yaml: there is no such file"),
        ((*WEB, "--seeds", "1..9"), "--seeds '1..9' is not FIRST-LAST, such as 1-1000"),
        ((*WEB, "--seeds", "9-1"), "--seeds '9-1' are 0 seeds, not 1 to 100,000"),
        (
            (*WEB, "--fail-if", "pendign>0"),
            "--fail-if 'pendign>0': there is no measure pendign; did you mean pending?",
        ),
        ((*WEB, "--shares", "200"), "--shares 200 is more than the 100 seeds"),
        ((*WEB, "--shares", "2"), "--index (JOB_COMPLETION_INDEX) is missing: it says which share, 0 to 1"),
        (
            (*WEB, "--shares", "2", "--index", "2"),
            "--index (JOB_COMPLETION_INDEX) is 2: it says which share, 0 to 1",
        ),
        ((*WEB, "--kubernetes"), "--kubernetes needs --shares N, one for each pod, and --image IMAGE"),
        ((*WEB, "--image", "t:1"), "--image goes with --kubernetes"),
        (
            (*WEB, "--region", "eu-west-1", "--merge", "x"),
            "--merge reads what shares were told; only --fail-if and -o go with it, not --file, --region",
        ),
        (
            (*WEB, "--index", "1"),
            "--index says which of --shares is rehearsed: it goes with --shares alone",
        ),
        ((*WEB, *JOB, "-o", "json"), "--output is for all seeds: give it with --merge"),
        ((*WEB, *JOB, "--processes", "2"), "--processes is for this machine: each pod of a Job has one"),
        (
            (*WEB, "--shares", "2", "--fail-if", "pending>0"),
            "--fail-if is for all seeds: give it with --merge",
        ),
        (
            ("-f", "-", *JOB),
            "-f - is standard input, which another machine cannot read: name a file",
        ),
        ((*WEB, "--at", "2h", "crash"), "--at 7200s crash: comes after the end, at 3600s"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(arguments: tuple[str, ...], complaint: str) -> None:
    ran = treenail("sweep", *arguments)

    assert (ran.code, ran.out, ran.err) == (2, "", f"treenail: {complaint}\n")


def test_a_region_of_which_nothing_is_known_is_refused() -> None:
    ran = treenail("sweep", *WEB, "--region", "mars-1")

    assert (ran.code, ran.out) == (2, "")
    assert "nothing is known of the region 'mars-1'" in ran.err


def test_files_too_large_for_a_config_map_are_refused() -> None:
    Path("large.yaml").write_text(Path("web.yaml").read_text() + "\n" + "# filler\n" * 150_000)

    ran = treenail("sweep", "-f", "large.yaml", *JOB)

    assert ran.code == 2
    assert "bytes, a ConfigMap 1,048,576 at most" in ran.err
