"""A real Kubernetes control plane on free loopback ports, whose nodes and pods KWOK plays."""

from __future__ import annotations

import base64
import json
import os
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import urllib3

from tests.real.parts import binaries
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.processes import GRACE, Processes, Program

PARTS: Final = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok")
# Nodes with this annotation are played by KWOK.
PLAYED: Final = "kwok.x-k8s.io/node=fake"
STAGES: Final = binaries.HERE / "stages.yaml"
# The parts' own rates (20 to 100 calls a second) would be what a test of 500 pods measures.
UNHURRIED: Final = ("--kube-api-qps=1000", "--kube-api-burst=2000")
# Fewer collections, for some 200 MB: a quarter less CPU time.
USUAL_ENV: Final = {"kube-apiserver": {"GOGC": "400"}}
# A P-256 private key in DER is this head, 32 random bytes, and the name of the curve: no openssl is needed.
KEY_HEAD: Final = bytes.fromhex("30310201010420")
KEY_TAIL: Final = bytes.fromhex("a00a06082a8648ce3d030107")
# Seconds for which a call is made again that a kind's storage refused on its way out.
PATIENCE: Final = 20.0
DEFAULT_ACCOUNT: Final = "/api/v1/namespaces/default/serviceaccounts/default"


class ControlPlane:
    """etcd, kube-apiserver, kube-scheduler, kube-controller-manager and KWOK, as processes of this test.

    Single parts can be stopped, killed and started again; they keep their data and their ports. Use it as a
    context manager, or call `start` and `stop`.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        without: Collection[str] = (),
        args: Mapping[str, Sequence[str]] | None = None,
        env: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """`without` names parts to leave out; `args` and `env` are more flags and variables by part.

        Without `folder` a fresh one is made, and removed at the end.

        Raises:
            NotBuiltError: a part is not built.
        """
        self._parts = tuple(part for part in PARTS if part not in without)
        binaries.require(*self._parts)
        self._args, self._env = args or {}, env or {}
        ports = free_ports(len(PARTS) + 1)
        self._port = dict(zip((*PARTS, "etcd-peer"), ports, strict=True))
        self._given_folder = folder
        self.token = secrets.token_hex(16)
        self.url = f"https://127.0.0.1:{self._port['kube-apiserver']}"
        self.seconds_to_start = 0.0
        self._pool: urllib3.PoolManager | None = None

    def start(self) -> Self:
        """Start all parts and wait until they are ready and the default service account is there.

        Raises:
            PartFailedError: a part did not come up. The message ends with its log.
        """
        begun = time.monotonic()
        self._processes = Processes(self._given_folder)
        try:
            self._write_secrets()
            for part in self._parts:
                self._launch(part)
            for part in self._parts[2:]:
                self._processes.wait(part)
        except BaseException:
            self.stop()
            raise
        self.seconds_to_start = time.monotonic() - begun
        return self

    def stop(self) -> None:
        """End all parts, and remove the folder if it was made here."""
        if self._pool is not None:
            self._pool.clear()
            self._pool = None
        self._processes.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def folder(self) -> Path:
        """Where the parts keep their data, certificates and logs (PART.log)."""
        return self._processes.folder

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig for a cluster administrator, by a token."""
        return self.folder / "kubeconfig"

    @property
    def certificate(self) -> Path:
        """The API server's certificate, which is its own authority. Its key is beside it (.key)."""
        return self.folder / "certs" / "apiserver.crt"

    @property
    def etcd(self) -> str:
        """Where etcd is."""
        return f"http://127.0.0.1:{self._port['etcd']}"

    @property
    def parts(self) -> tuple[str, ...]:
        return self._parts

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
    ) -> tuple[int, Any]:
        """Call the API server as administrator; return the status and the decoded JSON (or the text).

        What serves a custom kind is set up anew when its definition changes, and refuses whom it still hears:
        such a call is made again.

        Raises:
            urllib3.exceptions.HTTPError: there was no answer.
        """
        until = time.monotonic() + PATIENCE
        status, answer = self._call(method, path, body, content_type)
        while _is_set_up_anew(status, answer) and time.monotonic() < until:
            time.sleep(0.05)
            status, answer = self._call(method, path, body, content_type)
        return status, answer

    def _call(self, method: str, path: str, body: object, content_type: str) -> tuple[int, Any]:
        if self._pool is None:
            self._pool = urllib3.PoolManager(ca_certs=str(self.certificate))
        answer = self._pool.request(
            method,
            self.url + path,
            body=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": content_type},
            timeout=60,
            retries=False,
        )
        text = answer.data.decode(errors="replace")
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def stop_part(self, part: str) -> None:
        """Ask a part to end, and wait until it has."""
        self._processes.stop(part, grace=GRACE)

    def kill_part(self, part: str) -> None:
        """End a part as kill -9 does."""
        self._processes.stop(part, grace=0)

    def start_part(self, part: str) -> None:
        """Start a stopped part on its data and ports, and wait until it is ready."""
        self._processes.start_again(part)

    def restart(self, part: str) -> None:
        self.stop_part(part)
        self.start_part(part)

    def pause_part(self, part: str) -> None:
        """Let a part stand still: what is connected to it gets no answer."""
        self._processes.pause(part)

    def resume_part(self, part: str) -> None:
        self._processes.go_on(part)

    def running(self) -> tuple[str, ...]:
        """Return the parts that run now."""
        return self._processes.running()

    def pid(self, part: str) -> int:
        return self._processes.pid(part)

    def last_lines(self, part: str, count: int = 20) -> str:
        """Return the last lines a part logged."""
        return self._processes.last_lines(part, count)

    def _launch(self, part: str) -> None:
        program = Program(
            name=part,
            command=[binaries.program(part), *self._flags(part), *self._args.get(part, ())],
            ready=lambda: self._is_ready(part),
            env={**USUAL_ENV.get(part, {}), **self._env.get(part, {})},
        )
        self._processes.start(program)
        if part in PARTS[:2]:
            # The parts after them need both; these wait for each other's readiness at the end.
            self._processes.wait(part)
        if part == "kube-apiserver":
            self._write_kubeconfig()

    def _is_ready(self, part: str) -> bool:
        port = self._port[part]
        match part:
            case "etcd":
                return answers(f"http://127.0.0.1:{port}/health")
            case "kube-apiserver":
                return self.certificate.exists() and self._answers("/readyz")
            case "kwok":
                return answers(f"http://127.0.0.1:{port}/healthz")
            case "kube-controller-manager":
                # The first pod needs the account that it makes.
                return answers(f"https://127.0.0.1:{port}/healthz") and self._answers(DEFAULT_ACCOUNT)
            case _:
                return answers(f"https://127.0.0.1:{port}/healthz")

    def _answers(self, path: str) -> bool:
        try:
            return self.request("GET", path)[0] == 200
        except urllib3.exceptions.HTTPError:
            return False

    def _flags(self, part: str) -> list[str]:
        flags = {
            "etcd": self._etcd,
            "kube-apiserver": self._kube_apiserver,
            "kube-scheduler": self._kube_scheduler,
            "kube-controller-manager": self._kube_controller_manager,
            "kwok": self._kwok,
        }
        return flags[part]()

    def _etcd(self) -> list[str]:
        clients = self.etcd
        peers = f"http://127.0.0.1:{self._port['etcd-peer']}"
        return [
            "--name=one",
            "--data-dir=etcd",
            "--unsafe-no-fsync",
            "--log-level=warn",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=one={peers}",
        ]

    def _kube_apiserver(self) -> list[str]:
        # Without the controller manager nobody makes service accounts, and every pod would be refused.
        accounts = "kube-controller-manager" in self._parts
        return [
            f"--etcd-servers=http://127.0.0.1:{self._port['etcd']}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port['kube-apiserver']}",
            "--cert-dir=certs",
            "--authorization-mode=Node,RBAC",
            "--token-auth-file=tokens.csv",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file=service-accounts.key",
            "--service-account-signing-key-file=service-accounts.key",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
            "--endpoint-reconciler-type=none",
            "--profiling=false",
            *(() if accounts else ("--disable-admission-plugins=ServiceAccount",)),
        ]

    def _kube_scheduler(self) -> list[str]:
        return [
            "--kubeconfig=kubeconfig",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port['kube-scheduler']}",
            "--profiling=false",
            *UNHURRIED,
        ]

    def _kube_controller_manager(self) -> list[str]:
        return [
            "--kubeconfig=kubeconfig",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port['kube-controller-manager']}",
            "--profiling=false",
            "--service-account-private-key-file=service-accounts.key",
            "--root-ca-file=certs/apiserver.crt",
            *UNHURRIED,
        ]

    def _kwok(self) -> list[str]:
        return [
            "--kubeconfig=kubeconfig",
            f"--config={STAGES}",
            # The machines of others have not joined: a node made early waits, and so do its pods.
            f"--manage-nodes-with-annotation-selector={PLAYED}",
            "--node-ip=10.0.0.1",
            "--cidr=10.64.0.0/10",
            f"--server-address=127.0.0.1:{self._port['kwok']}",
            "-v=WARN",
        ]

    def _write_secrets(self) -> None:
        key = base64.b64encode(KEY_HEAD + secrets.token_bytes(32) + KEY_TAIL).decode()
        self._write(
            "service-accounts.key", f"-----BEGIN EC PRIVATE KEY-----\n{key}\n-----END EC PRIVATE KEY-----\n"
        )
        self._write("tokens.csv", f'{self.token},admin,admin,"system:masters"\n')

    def _write_kubeconfig(self) -> None:
        authority = base64.b64encode(self.certificate.read_bytes()).decode()
        cluster = {"server": self.url, "certificate-authority-data": authority}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "real",
            "clusters": [{"name": "real", "cluster": cluster}],
            "users": [{"name": "real", "user": {"token": self.token}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "real"}}],
        }
        self._write("kubeconfig", json.dumps(config, indent=1))

    def _write(self, name: str, text: str) -> None:
        descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)


def _is_set_up_anew(status: int, answer: Any) -> bool:
    return (
        status == 503 and isinstance(answer, dict) and answer.get("message") == "apiserver is shutting down"
    )
