from __future__ import annotations

import socket
import threading
from dataclasses import replace

import pytest

from tests.adapters.kubernetes.objects import pod
from tests.adapters.kubernetes.rig import FAST, Heard, Rig, a_connection, keys
from tests.adapters.kubernetes.scripted import HANG
from treenail.adapters.kubernetes.reader import KubernetesReader
from treenail.adapters.kubernetes.resources import POD


def test_after_stop_nothing_is_told_and_no_thread_is_left() -> None:
    with Rig() as rig:
        before = set(threading.enumerate())
        rig.server.serve(POD, revision=5)
        rig.start()
        watch = rig.server.watch(POD)
        names = {t.name for t in threading.enumerate() if t.name.startswith("kubernetes-")}

        rig.reader.stop()
        watch.send("ADDED", pod("a", 6))

        assert names >= {"kubernetes-tell", "kubernetes-pods", "kubernetes-nodes"}
        assert not any(t.name.startswith("kubernetes-") for t in set(threading.enumerate()) - before)
        assert rig.heard.quiet


def test_a_server_that_does_not_answer_does_not_hold_up_the_end() -> None:
    with Rig() as rig:
        rig.server.lists(POD, HANG)
        rig.reader.feed(rig.heard)
        rig.server.wait_for(POD, 1)

        rig.reader.stop()

        assert not any(t.name.startswith("kubernetes-") for t in threading.enumerate())
        assert rig.heard.quiet


def say_nothing(_: str, /, **__: object) -> None:
    """Be told what nobody looks at."""


def test_a_server_that_agrees_on_no_encryption_does_not_hold_up_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection = a_connection(f"https://127.0.0.1:{silent.getsockname()[1]}")
        reader = KubernetesReader(
            connection,
            congested=lambda: False,
            failed=lambda _: None,
            log=say_nothing,
            # What comes before the handshake takes its time on a busy machine.
            pace=replace(FAST, stop=60),
        )
        reader.feed(Heard())
        taken, _ = silent.accept()
        taken.settimeout(3)
        assert taken.recv(1) != b""

        ending = threading.Thread(target=reader.stop)
        ending.start()

        # The client's own patience with a handshake is longer than this socket's.
        while taken.recv(65_536):
            continue
        ending.join()
        taken.close()
        assert not any(t.name.startswith("kubernetes-") for t in threading.enumerate())
        connection.close()


def test_one_listener_at_a_time_and_another_after_stop() -> None:
    with Rig() as rig:
        rig.server.serve(POD, pod("a", 1))
        rig.start()
        with pytest.raises(RuntimeError):
            rig.reader.feed(Heard())
        rig.reader.stop()

        assert keys(rig.start()) == ["uid-a"]


def test_an_exception_nobody_expected_is_reported() -> None:
    class NullRef:
        def tell(self, _: object, /) -> None:
            raise LookupError("nobody is there")

    with Rig() as rig:
        rig.server.serve(POD)
        rig.reader.feed(NullRef())
        rig.server.watch(POD)
        while not rig.defects:
            rig.server.wait_for(POD, 1)

        [defect] = rig.defects
        assert isinstance(defect, LookupError)
        rig.defects.clear()
