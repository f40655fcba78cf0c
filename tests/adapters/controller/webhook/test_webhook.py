from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from treenail.adapters.controller.webhook.server import ConversionServer
from treenail.adapters.controller.webhook.webhook import Webhook, address_of
from treenail.adapters.settings.sources import read_settings
from treenail.domain.model.errors import NotLeadingError, UnavailableError

SECONDS = 20.0


class LowDice:
    """The shortest pauses there are."""

    def uniform(self, low: float, high: float) -> float:
        del high
        return low / 100

    def token(self) -> str:
        raise AssertionError("nobody asks")


def turned(turn: Callable[[], bool]) -> tuple[list[str], list[BaseException], Webhook]:
    said: list[str] = []
    defects: list[BaseException] = []
    server = ConversionServer(0, bytes, failed=defects.append, lost=lambda _: None)
    webhook = Webhook(
        server,
        turn,
        end=threading.Event(),
        dice=LowDice(),
        log=lambda message, **_: said.append(message),
        failed=defects.append,
    )
    return said, defects, webhook


def test_a_turn_that_fails_is_told_of_and_tried_again() -> None:
    turns: list[int] = []
    well = threading.Event()

    def turn() -> bool:
        turns.append(1)
        if len(turns) < 3:
            raise UnavailableError("nobody answers")
        well.set()
        return True

    said, defects, webhook = turned(turn)
    webhook.start()
    assert well.wait(SECONDS)
    webhook.stop()

    assert said == ["webhook upkeep failed"] * 2
    assert defects == []


def test_a_replica_that_does_not_lead_leaves_writing_to_the_leader_and_looks_again() -> None:
    turns: list[int] = []
    well = threading.Event()

    def turn() -> bool:
        turns.append(1)
        if len(turns) < 3:
            raise NotLeadingError("not now")
        well.set()
        return True

    said, defects, webhook = turned(turn)
    webhook.start()
    assert well.wait(SECONDS)
    webhook.stop()

    assert said == []
    assert defects == []


def test_a_defect_is_reported() -> None:
    begun = threading.Event()

    def turn() -> bool:
        begun.set()
        raise KeyError("spec")

    _, defects, webhook = turned(turn)
    webhook.start()
    assert begun.wait(SECONDS)
    webhook.stop()

    assert [type(error) for error in defects] == [KeyError]


def test_it_may_end_before_it_began() -> None:
    _, defects, webhook = turned(lambda: True)

    webhook.stop()

    assert defects == []


@pytest.mark.parametrize(
    ("variables", "place", "names"),
    [
        (
            {"KARPENTER_SERVICE": "karpenter", "SYSTEM_NAMESPACE": "karpenter"},
            {"service": {"name": "karpenter", "namespace": "karpenter", "path": "/convert", "port": 9443}},
            ("karpenter.karpenter.svc", "karpenter.karpenter.svc.cluster.local"),
        ),
        (
            {"WEBHOOK_URL": "https://10.0.0.1:9443/"},
            {"url": "https://10.0.0.1:9443/convert"},
            ("10.0.0.1",),
        ),
    ],
)
def test_the_api_server_finds_it_as_the_settings_say(
    variables: dict[str, str], place: dict[str, object], names: tuple[str, ...]
) -> None:
    address = address_of(read_settings({"CLUSTER_NAME": "demo", **variables}, {}), 9443)

    assert (address.place, address.names) == (place, names)
