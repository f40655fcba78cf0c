"""`treenail controller`: the process that runs in the cluster."""

from __future__ import annotations

import faulthandler
import gc
import inspect
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Final, TextIO

import typer

from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.settings import values
from treenail.adapters.settings.settings import VARIABLES, Settings, Variable
from treenail.adapters.settings.sources import SettingError, Sources, read_settings
from treenail.adapters.settings.unsupported_settings import ELECTION, IGNORED, REFUSED
from treenail.adapters.telemetry.log_paths import open_log
from treenail.domain.model.errors import PortError

# Threads wait for one another so long at most where all have work (s); Python's own 5 ms is too long for an
# interruption, which goes through several.
_SWITCH_SECONDS: Final = 0.001
# When garbage is collected: of the young often and in small lots, for all threads wait for it, and of the old
# hardly ever, for a cluster is large and little of it is garbage.
_COLLECTIONS: Final = (10_000, 2, 5_000)
# Settings of Karpenter's that have no effect or are refused, and how it was told that nobody is elected.
_KARPENTERS: Final = tuple(
    Variable(name, "", "", values.boolean if switch else values.text)
    for name, switch in (
        *((name, default in ("true", "false")) for name, default in IGNORED.items()),
        *((name, True) for name in ELECTION),
        *((name, read is values.boolean) for name, (read, _) in REFUSED.items()),
    )
)
_SWITCHES: Final = frozenset(one.option for one in (*VARIABLES, *_KARPENTERS) if one.read is values.boolean)


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """Return `arguments` with `true` for each option that is true or false and has no value, as Karpenter."""
    pairs = pairwise((*arguments, "-"))
    return [f"{one}=true" if one in _SWITCHES and after.startswith("-") else one for one, after in pairs]


def controller(**options: str | None) -> None:
    """Run the controller until it is told to end.

    Every option is an environment variable too, which it comes before.
    """
    given = {name.upper(): value for name, value in options.items() if value is not None}
    settings = _settings(given)
    # The adapters it needs take a good part of a second to import: no other command waits for them.
    from treenail.adapters.controller.controller import Controller  # noqa: PLC0415
    from treenail.adapters.controller.outside import open_outside  # noqa: PLC0415
    from treenail.adapters.controller.telemetry import LibraryLogs  # noqa: PLC0415

    process = Controller(settings, open_outside, log=_log(settings), last_resort=lambda: _exit(1))
    LibraryLogs(process.telemetry).attach()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process.stop())
    signal.signal(signal.SIGUSR2, lambda *_: process.turn_log_level())
    # What every thread is at, on stderr: the first thing to ask of a process that seems to hang.
    # A crash of the interpreter itself would otherwise leave no word.
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    tune()
    try:
        code = process.run()
    except SettingError as error:
        raise BadInputError(str(error)) from None
    _exit(code)


def _log(settings: Settings) -> TextIO:
    try:
        return open_log(settings.log_output_paths)
    except OSError as error:
        raise BadInputError(f"LOG_OUTPUT_PATHS: {error.filename}: {error.strerror}") from None


def _settings(given: Mapping[str, str]) -> Settings:
    """Read the settings, those included that the cluster keeps in a ConfigMap of old."""
    from treenail.adapters.controller.config_map import await_config_map, read_config_map  # noqa: PLC0415
    from treenail.adapters.runtime.dice import SystemDice  # noqa: PLC0415

    def say(line: str) -> None:
        sys.stderr.write(f"treenail: {line}\n")
        sys.stderr.flush()

    try:
        if given.get("CLUSTER_NAME") or os.environ.get("CLUSTER_NAME"):
            # What is wrong by itself is told without asking the cluster.
            read_settings(os.environ, given)
        read = partial(read_config_map, Sources(os.environ, given))
        config = await_config_map(read, say=say, uniform=SystemDice().uniform)
        return read_settings(os.environ, given, config)
    except SettingError as error:
        raise BadInputError(str(error)) from None
    except PortError as error:
        sys.stderr.write(f"treenail: the settings cannot be read: {' '.join(str(error).split())}\n")
        raise typer.Exit(1) from None


def tune() -> None:
    """Set this process up for many threads and much that stays in memory."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)


def _exit(code: int) -> None:
    """End at once: no library's thread is waited for."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _declare_options() -> None:
    """Give the command an option for each setting, and one that is not shown for each that is Karpenter's."""
    parameters = []
    for variable in (*VARIABLES, *_KARPENTERS):
        about = variable.about.replace("`", "") + (f" [{variable.default}]" if variable.default else "")
        option = typer.Option(
            variable.option, help=about, show_default=False, metavar="VALUE", hidden=not about
        )
        annotation = Annotated[str | None, option]
        parameters.append(
            inspect.Parameter(
                variable.field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
            )
        )
        controller.__annotations__[variable.field] = annotation
    controller.__annotations__.pop("options", None)
    controller.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]


_declare_options()
