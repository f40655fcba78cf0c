"""Sources of a setting: option, environment variable, ConfigMap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from treenail.adapters.settings.global_settings import place_of, variables_of, warnings_of
from treenail.adapters.settings.settings import VARIABLES, Settings, Variable
from treenail.adapters.settings.unsupported_settings import ELECTION, FOLLOWED, GATES, IGNORED, REFUSED

_NOTHING: Final[Mapping[str, str]] = {}


class SettingError(Exception):
    """A setting cannot be worked with. The text is the one line to show; it names the variable."""


def read_settings(
    environment: Mapping[str, str], options: Mapping[str, str], config: Mapping[str, str] = _NOTHING
) -> Settings:
    """Read the settings. `options` are by variable, and come before the `environment`.

    Both come before `config`, the data of the ConfigMap `karpenter-global-settings`. What is set to nothing
    is as if it were not set.

    Raises:
        SettingError: a value cannot be read or followed, or the cluster's name is missing.
    """
    said = {**environment, **{name: value for name, value in options.items() if value}}
    _refuse(said)
    _refuse(variables_of(config), called=place_of)
    sources = Sources(environment, options, variables_of(config))
    read = {variable.field: sources.read(variable) for variable in VARIABLES}
    warnings = (*_warnings(said, read["feature_gates"]), *warnings_of(config))
    settings = Settings(**read, warnings=warnings, election_wanted=_wants_election(said, read))
    _check(settings)
    return settings


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources of settings, each by variable. Options override the environment, and that the ConfigMap."""

    environment: Mapping[str, str]
    options: Mapping[str, str]
    config: Mapping[str, str] = field(default_factory=dict)

    def read(self, variable: Variable) -> Any:  # noqa: ANN401 (what the variable's reader returns)
        """Return what a variable is set to.

        Raises:
            SettingError: its value cannot be read.
        """
        name = variable.name
        for written, where in (
            (self.options.get(name), variable.option),
            (self.environment.get(name), name),
            (self.config.get(name), place_of(name) if name in self.config else name),
            (variable.default, name),
        ):
            if written:
                try:
                    return variable.read(written.strip())
                except ValueError as error:
                    raise SettingError(f"{where}: {written!r} {error}") from None
        return variable.read("")


def _refuse(said: Mapping[str, str], called: Callable[[str], str] = str) -> None:
    for name, (read, why) in REFUSED.items():
        written = said.get(name, "").strip()
        try:
            wanted = written and read(written)
        except ValueError as error:
            raise SettingError(f"{called(name)}: {written!r} {error}") from None
        if wanted:
            raise SettingError(f"{called(name)}: {written!r} cannot be followed: {why}")


def _check(settings: Settings) -> None:
    if not settings.cluster_name:
        raise SettingError("CLUSTER_NAME: the name of the cluster must be given")
    if settings.batch_idle_duration > settings.batch_max_duration:
        raise SettingError("BATCH_IDLE_DURATION: is longer than BATCH_MAX_DURATION")
    if settings.kube_client_burst < 1:
        raise SettingError("KUBE_CLIENT_BURST: '0' would let no write through")


def _wants_election(environment: Mapping[str, str], read: Mapping[str, Any]) -> bool:
    """Return whether a leader is to be elected, as it is with Karpenter unless a setting says otherwise."""
    declined = bool(read["disable_leader_election"])
    for name, declines in ELECTION.items():
        written = environment.get(name, "").strip()
        try:
            declined |= bool(written) and declines(written)
        except ValueError as error:
            raise SettingError(f"{name}: {written!r} {error}") from None
    return not declined


def _warnings(environment: Mapping[str, str], gates: Mapping[str, bool]) -> tuple[str, ...]:
    ignored = [
        f"{name} is set to {environment[name]!r}, which changes nothing here"
        for name, default in IGNORED.items()
        if environment.get(name, "") not in {"", default}
    ]
    ignored += [
        f"FEATURE_GATES sets {name} to {str(value).lower()}, which changes nothing here"
        for name, value in gates.items()
        if value != GATES.get(name, value) and name not in FOLLOWED
    ]
    known = ", ".join(sorted(GATES))
    ignored += [
        f"FEATURE_GATES names {name}, which changes nothing: there are {known}"
        for name in gates
        if name not in GATES
    ]
    return tuple(ignored)
