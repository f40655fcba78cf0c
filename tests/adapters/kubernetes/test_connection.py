from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from kubernetes.client import Configuration

from tests.adapters.kubernetes.rig import a_connection
from tests.adapters.kubernetes.scripted import DROP, HANG, Reply, ScriptedServer, status
from treenail.adapters.kubernetes.connection import Connection, NotConnectedError
from treenail.adapters.kubernetes.errors import ExpiredError, ForbiddenError, UnauthorizedError
from treenail.domain.model.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidError,
    NotFoundError,
    NotLeadingError,
    PortError,
    TooManyRequestsError,
    UnavailableError,
)

PATH = "/api/v1/namespaces/default/pods/web-0"
EVICTION = f"{PATH}/eviction"
BEARER = "top-secret"


class Pauses:
    """A clock that goes on as somebody pauses."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def now(self) -> float:
        return sum(self.seconds)

    def pause(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def connection(server: ScriptedServer, pauses: Pauses) -> Iterator[Connection]:
    connection = a_connection(
        server.url, clock=pauses.now, pause=pauses.pause, uniform=lambda _, high: high, qps=2.0, burst=3
    )
    yield connection
    connection.close()


def test_each_answer_tells_what_time_it_is_there(server: ScriptedServer) -> None:
    heard: list[datetime] = []
    connection = a_connection(server.url, dated=heard.append)
    server.answers(PATH, Reply(body=b"{}"), status(404, "NotFound", "no"))

    connection.request("GET", PATH)
    with pytest.raises(NotFoundError):
        connection.request("GET", PATH)
    connection.close()

    assert len(heard) == 2
    assert all(abs(datetime.now(UTC) - at) < timedelta(seconds=30) for at in heard)


# --- what refusals mean


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (400, "BadRequest", InvalidError),
        (401, "Unauthorized", UnauthorizedError),
        (403, "Forbidden", UnavailableError),
        (404, "NotFound", NotFoundError),
        (405, "MethodNotAllowed", InvalidError),
        (408, "Timeout", UnavailableError),
        (409, "AlreadyExists", AlreadyExistsError),
        (409, "Conflict", ConflictError),
        (410, "Expired", ExpiredError),
        (415, "UnsupportedMediaType", InvalidError),
        (422, "Invalid", InvalidError),
        (500, "InternalError", UnavailableError),
        (503, "ServiceUnavailable", UnavailableError),
        (504, "Timeout", UnavailableError),
        (302, "", UnavailableError),
    ],
)
def test_a_refusal_means(
    server: ScriptedServer, connection: Connection, code: int, reason: str, error: type[PortError]
) -> None:
    server.answers(PATH, status(code, reason, "the server says why"))

    with pytest.raises(error, match="the server says why") as raised:
        connection.request("DELETE", PATH)

    assert str(raised.value).startswith(f"DELETE {PATH}: ")
    assert len(server.asked) == 1


def test_what_is_forbidden_is_not_asked_again(server: ScriptedServer, connection: Connection) -> None:
    server.answers(PATH, status(403, "Forbidden", "no"))

    with pytest.raises(ForbiddenError):
        connection.request("GET", PATH)

    assert len(server.asked) == 1


def test_the_causes_of_a_refusal_are_told(server: ScriptedServer, connection: Connection) -> None:
    causes = [
        {"reason": "FieldValueRequired", "field": "spec.role", "message": "must be set"},
        {"reason": "FieldValueInvalid", "field": "spec.a", "message": "said already"},
    ]
    server.answers(PATH, status(422, "Invalid", "it is wrong: said already", details={"causes": causes}))

    with pytest.raises(InvalidError) as raised:
        connection.request("POST", PATH, body=b"{}")

    assert str(raised.value) == f"POST {PATH}: it is wrong: said already; spec.role: must be set (422)"


def test_a_refusal_in_plain_text_is_told_in_short(server: ScriptedServer, connection: Connection) -> None:
    server.answers(PATH, Reply(404, b"404 page\n not found" + b"!" * 1_000))

    with pytest.raises(NotFoundError, match=r"404 page not found!{200,300} \(404\)$"):
        connection.request("GET", PATH)


def test_a_server_that_is_not_there_is_unavailable(pauses: Pauses) -> None:
    with ScriptedServer() as gone:
        url = gone.url
    connection = a_connection(url, clock=pauses.now, pause=pauses.pause)

    with pytest.raises(UnavailableError, match="no connection to the API server"):
        connection.request("POST", PATH, body=b"{}")

    assert len(pauses.seconds) == 3


def test_an_answer_that_does_not_come_in_time_is_unavailable(
    server: ScriptedServer, connection: Connection
) -> None:
    server.answers(PATH, HANG)

    with pytest.raises(UnavailableError, match="no answer in time"):
        connection.request("DELETE", PATH, timeout=0.1)


# --- trying again


@pytest.mark.parametrize("trouble", [DROP, status(500), status(503, headers={"Retry-After": "1"})])
def test_what_only_reads_is_tried_again(
    server: ScriptedServer, connection: Connection, trouble: Reply
) -> None:
    server.answers(PATH, trouble, trouble, trouble, Reply(body=b'{"a": 1}'))

    assert connection.request("GET", PATH) == b'{"a": 1}'


def test_pauses_between_attempts_grow(server: ScriptedServer, connection: Connection, pauses: Pauses) -> None:
    server.answers(PATH, *[status(500)] * 4)

    with pytest.raises(UnavailableError):
        connection.request("GET", PATH)

    assert pauses.seconds == [0.2, 0.4, 0.8]


@pytest.mark.parametrize("trouble", [DROP, status(500), status(504)])
def test_what_writes_is_not_tried_again_where_it_may_have_been_done(
    server: ScriptedServer, connection: Connection, trouble: Reply
) -> None:
    server.answers(PATH, trouble)

    with pytest.raises(UnavailableError):
        connection.request("PATCH", PATH, body=b"{}")

    assert len(server.asked) == 1


def test_a_write_that_was_too_much_at_once_is_tried_again_when_the_server_says(
    server: ScriptedServer, connection: Connection, pauses: Pauses
) -> None:
    server.answers(PATH, status(429, "TooManyRequests", headers={"Retry-After": "1"}), Reply(body=b"{}"))

    connection.request("PATCH", PATH, body=b"{}")

    assert pauses.seconds == [1.2]


def test_nobody_waits_for_a_server_that_asks_for_too_long(
    server: ScriptedServer, connection: Connection, pauses: Pauses
) -> None:
    server.answers(PATH, status(429, "TooManyRequests", headers={"Retry-After": "60"}))

    with pytest.raises(TooManyRequestsError):
        connection.request("PATCH", PATH, body=b"{}")

    assert pauses.seconds == []


def test_an_eviction_that_a_budget_forbids_is_not_tried_again(
    server: ScriptedServer, connection: Connection
) -> None:
    causes = [{"reason": "DisruptionBudget", "message": "The disruption budget web needs 2 healthy pods"}]
    details = {"causes": causes, "retryAfterSeconds": 1}
    server.answers(EVICTION, status(429, "TooManyRequests", "Cannot evict pod", details=details))

    with pytest.raises(TooManyRequestsError, match="Cannot evict pod; The disruption budget web needs"):
        connection.request("POST", EVICTION, body=b"{}")

    assert len(server.asked) == 1


def test_attempts_end_with_the_time_given(
    server: ScriptedServer, connection: Connection, pauses: Pauses
) -> None:
    server.answers(PATH, *[status(500)] * 4)

    with pytest.raises(UnavailableError):
        connection.request("GET", PATH, timeout=0.5)

    assert pauses.seconds == [0.2]


# --- how fast


def test_writes_wait_for_a_permit_and_reads_do_not(
    server: ScriptedServer, connection: Connection, pauses: Pauses
) -> None:
    server.answers(PATH, *[Reply()] * 12)

    for _ in range(5):
        connection.request("GET", PATH)
    for _ in range(5):
        connection.request("PATCH", PATH, body=b"{}")

    assert pauses.seconds == [0.5, 0.5]


def test_a_write_that_would_wait_too_long_for_its_permit_is_not_sent(
    server: ScriptedServer, connection: Connection
) -> None:
    server.answers(PATH, *[Reply()] * 5)
    for _ in range(3):
        connection.request("PATCH", PATH, body=b"{}")

    with pytest.raises(TooManyRequestsError, match="our own limit is 2 a second"):
        connection.request("PATCH", PATH, body=b"{}", timeout=0.3)

    assert len(server.asked) == 3


# --- what is sent


def test_a_request_says_what_it_was_told_to(server: ScriptedServer, connection: Connection) -> None:
    server.answers(PATH, Reply())

    connection.request(
        "PATCH", PATH, query={"dryRun": "All"}, body=b'{"a":1}', content_type="application/merge-patch+json"
    )

    [asked] = server.asked
    assert (asked.method, asked.query, asked.body) == ("PATCH", {"dryRun": "All"}, b'{"a":1}')
    assert asked.headers["Content-Type"] == "application/merge-patch+json"
    assert asked.headers["User-Agent"] == "treenail"


def kubeconfig(folder: Path, url: str) -> Path:
    file = folder / "config"
    tree = {
        "current-context": "one",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": BEARER}}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
    }
    file.write_text(json.dumps(tree))
    return file


def test_the_token_of_a_kubeconfig_is_sent_and_never_told(server: ScriptedServer, tmp_path: Path) -> None:
    connection = Connection.open(kubeconfig=kubeconfig(tmp_path, server.url), qps=10, burst=10)
    server.answers(PATH, status(403, "Forbidden", "no"))

    with pytest.raises(UnavailableError) as raised:
        connection.request("DELETE", PATH)
    connection.close()

    assert server.asked[0].headers["authorization"] == f"Bearer {BEARER}"
    assert BEARER not in repr(raised.value)


def test_a_token_is_asked_for_anew_with_every_request(server: ScriptedServer) -> None:
    tokens = iter(["Bearer one", "Bearer two"])
    configuration = Configuration(host=server.url, api_key={"BearerToken": ""})

    def renew(renewed: Configuration) -> None:
        renewed.api_key["BearerToken"] = next(tokens)

    configuration.refresh_api_key_hook = renew
    connection = Connection(configuration, qps=10, burst=10)
    server.answers(PATH, Reply(), Reply())

    connection.request("GET", PATH)
    connection.request("GET", PATH)
    connection.close()

    assert [a.headers["authorization"] for a in server.asked] == ["Bearer one", "Bearer two"]


def test_a_token_that_cannot_be_renewed_is_no_answer_and_tells_nothing(server: ScriptedServer) -> None:
    configuration = Configuration(host=server.url, api_key={"BearerToken": BEARER})

    def renew(_: Configuration) -> None:
        raise OSError(f"cannot read {BEARER}")

    configuration.refresh_api_key_hook = renew
    connection = a_connection_of(configuration)

    with pytest.raises(UnavailableError, match="credentials could not be renewed: OSError") as raised:
        connection.request("GET", PATH)

    assert BEARER not in repr(raised.value)
    assert server.asked == []


def a_connection_of(configuration: Configuration) -> Connection:
    return Connection(configuration, qps=10, burst=10, pause=lambda _: None)


def test_without_a_kubeconfig_or_a_cluster_around_there_is_no_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    with pytest.raises(NotConnectedError, match="in the cluster"):
        Connection.open(qps=1, burst=1)
    with pytest.raises(NotConnectedError, match="nothing-here"):
        Connection.open(kubeconfig=tmp_path / "nothing-here", qps=1, burst=1)


# --- writes that may not be sent


def test_a_write_that_may_not_be_sent_is_not_and_a_read_is(server: ScriptedServer) -> None:
    def refuse() -> None:
        raise NotLeadingError("not now")

    connection = a_connection(server.url, may_write=refuse)
    server.answers(PATH, Reply(body=b"{}"))
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        with pytest.raises(NotLeadingError):
            connection.request(method, PATH, body=b"{}")
    assert server.asked == []

    connection.request("GET", PATH)

    connection.close()


def test_each_attempt_at_a_write_is_asked_about_after_it_has_waited(
    server: ScriptedServer, pauses: Pauses
) -> None:
    asked: list[float] = []

    def only_once() -> None:
        asked.append(pauses.now())
        if len(asked) > 1:
            raise NotLeadingError("not any more")

    connection = a_connection(
        server.url,
        clock=pauses.now,
        pause=pauses.pause,
        uniform=lambda _, high: high,
        may_write=only_once,
    )
    server.answers(PATH, status(429, "TooManyRequests", "wait"), Reply(body=b"{}"))

    with pytest.raises(NotLeadingError):
        connection.request("PATCH", PATH, body=b"{}")

    assert asked == [0.0, pytest.approx(0.2)]
    connection.close()
