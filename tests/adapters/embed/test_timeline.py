from __future__ import annotations

from treenail.adapters.embed.timeline import Timeline


def test_a_node_is_cordoned_since_the_last_time_that_it_was_not_uncordoned_after() -> None:
    clock = iter(range(100))
    timeline = Timeline(lambda: float(next(clock)))
    for event, name in (
        ("NodeCordoned", "a"),
        ("NodeCordoned", "b"),
        ("NodeUncordoned", "a"),
        ("NodeUncordoned", "b"),
        ("NodeCordoned", "b"),
        ("NodeCordoned", "b"),
    ):
        timeline.add(event, {"nodeClaim": name, "node": f"node-{name}"})

    assert timeline.cordoned("nodeClaim") == {"b": 4.0}
    assert timeline.cordoned("node") == {"node-b": 4.0}
