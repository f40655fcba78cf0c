"""What every `InterruptionQueue` must do."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.agenda import HeapAgenda
from tests.real.lab.fixtures import lab, lab_process  # noqa: F401
from tests.real.lab.lab import Lab
from tests.real.sqs.reader import Reader
from treenail.adapters.fake.queue import NAME, FakeQueue
from treenail.adapters.sqs import SqsSettings
from treenail.testing.contracts import QueueContract, QueueSubject

# Over the wire a second of these tests is so much of a real one, and so is the time of visibility.
PACE: Final = 0.1


class TestEveryQueue(QueueContract):
    @pytest.fixture(params=["fake", pytest.param("sqs", marks=pytest.mark.xdist_group("contract of queues"))])
    def subject(self, request: pytest.FixtureRequest) -> Iterator[QueueSubject]:
        if request.param == "fake":
            agenda = HeapAgenda()
            queue = FakeQueue(agenda, random.Random(1))
            yield QueueSubject(queue=queue, name=NAME, send=queue.put, wait=agenda.run)
            return
        laboratory: Lab = request.getfixturevalue("lab")
        reader = Reader(
            laboratory, SqsSettings(name=laboratory.cluster, wait_seconds=1, visibility_seconds=2)
        )
        wait: Callable[[float], None] = lambda seconds: time.sleep(max(1.0, seconds * PACE))  # noqa: E731
        yield QueueSubject(queue=reader.queue, name=laboratory.cluster, send=reader.send, wait=wait)
        reader.queue.stop()
        assert reader.defects == []
