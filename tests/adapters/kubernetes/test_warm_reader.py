from __future__ import annotations

from tests.adapters.kubernetes.objects import pod
from tests.adapters.kubernetes.rig import Rig, keys
from treenail.adapters.kubernetes.resources import POD


def test_whoever_is_fed_hears_of_what_was_read_before_and_it_is_not_read_again() -> None:
    with Rig() as rig:
        rig.server.serve(POD, pod("a", 5), revision=5)
        assert not rig.reader.known
        rig.reader.warm()
        rig.server.watch(POD)
        assert rig.heard.quiet

        told = rig.start()

        assert keys(told) == ["uid-a"]
        assert rig.reader.known
        assert len(rig.server.requests(POD)) == 1


def test_a_reader_that_was_only_warmed_ends_like_any_other() -> None:
    with Rig() as rig:
        rig.server.serve(POD, revision=5)
        rig.reader.warm()
        rig.server.watch(POD)

        rig.reader.stop()

        assert not rig.reader.known
        assert rig.heard.quiet
