"""How an attached autoscaler behaves, beyond its policy, and the bounds on its executors. Wrong values are refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tidegate.control.fallback import Fallback
from tidegate.core import InvalidInput, Limits, Sink, UnknownName
from tidegate.core.amounts import duration
from tidegate.core.defaults import STORE
from tidegate.spark.pool import FOREIGN

MODES = ("active", "monitor")
DURATIONS = ("period", "slo", "patience")


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations are seconds, or text like `500ms`.

    >>> Settings(slo="1m").slo
    60.0
    """

    mode: str = "active"
    #: time between observations
    period: float = 1.0
    #: latency against which the run is scored, and above which executors are not released
    slo: float = 10.0
    #: spread the state of the query evenly over its executors; else it stays where Spark has it
    spread: bool = True
    #: where ticks and decisions are kept; None for nowhere
    store: str | Path | None = STORE
    #: go on from what the policy learned when it was last attached to a query of this name
    resume: bool = True
    #: further sinks, which are shown every tick
    sinks: Sequence[Sink] = ()
    #: how long a policy or the driver is waited for before the tick becomes a hold
    patience: float = 20.0
    #: executors to fall back to when nothing can be decided; None to keep those that were requested last
    fallback: int | None = None
    #: decisions that must fail in a row before that
    fallback_after: int = 3
    #: `static`: that number; `at-least`: no fewer than were requested last
    fallback_behavior: str = "static"
    #: if somebody else changes the application's total: `correct` it, or `respect` it for ten minutes
    foreign: str = "correct"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UnknownName("mode", self.mode, MODES)
        if self.foreign not in FOREIGN:
            raise UnknownName("way to treat foreign changes", self.foreign, FOREIGN)
        for name in DURATIONS:
            object.__setattr__(self, name, _seconds(name, getattr(self, name)))
        _sinks(self.sinks)
        _store(self.store)
        self.new_fallback()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """Settings from keyword arguments; an unknown one is refused with the nearest name."""
        names = [field.name for field in fields(cls)]
        for name in values:
            if name not in names:
                raise UnknownName("setting of attach", name, names)
        return cls(**values)

    @property
    def active(self) -> bool:
        return self.mode == "active"

    def new_fallback(self) -> Fallback:
        number = None if self.fallback is None else _whole("fallback", self.fallback)
        return Fallback(number, _whole("fallback_after", self.fallback_after), self.fallback_behavior)


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, str):
        try:
            value = duration(value)
        except InvalidInput as error:
            raise InvalidInput(f"attach: {name}: {error}") from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise InvalidInput(f"attach: need a duration above 0 s as {name}, got {value!r}")
    return float(value)


def _sinks(sinks: Any) -> None:
    listed = sinks if isinstance(sinks, list | tuple) else [sinks]
    for sink in listed:
        if not callable(getattr(sink, "take", None)) or not isinstance(getattr(sink, "name", None), str):
            raise InvalidInput(f"attach: need sinks with a name and a method take, got {sink!r}")
    if listed is not sinks:
        raise InvalidInput(f"attach: need a list of sinks, got {sinks!r}")


def _store(store: Any) -> None:
    if store is None or store == STORE:
        return
    if not isinstance(store, str | Path):
        raise InvalidInput(f"attach: need a path or None as store, got {store!r}")
    folder = Path(store).parent
    if str(store) != ":memory:" and not folder.is_dir():
        raise InvalidInput(f"attach: the folder {folder} of the store {store} does not exist")


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"attach: need a whole number as {name}, got {value!r}")
    return value


def bounds(conf: Mapping[str, str], minimum: int | None, maximum: int | None, mode: str = "active") -> Limits:
    """The tighter of the given bounds and those in Spark's configuration.

    >>> bounds({"spark.dynamicAllocation.maxExecutors": "6"}, minimum=2, maximum=8)
    Limits(minimum=2, maximum=6)
    """
    if mode == "active" and conf.get("spark.dynamicAllocation.enabled", "false").lower() == "true":
        raise InvalidInput(
            "Spark's own dynamic allocation is on and would undo what Tidegate does: start the application with"
            " spark.dynamicAllocation.enabled=false (its minExecutors and maxExecutors stay in force as bounds), or"
            ' watch with mode="monitor"'
        )
    for name, value in (("min_executors", minimum), ("max_executors", maximum)):
        if value is not None:
            _whole(name, value)
    low = _configured(conf, "spark.dynamicAllocation.minExecutors")
    high = _configured(conf, "spark.dynamicAllocation.maxExecutors")
    upper = [bound for bound in (maximum, high) if bound is not None]
    if not upper:
        raise InvalidInput("attach: need max_executors, or spark.dynamicAllocation.maxExecutors, as an upper bound")
    return Limits(max(1 if minimum is None else minimum, low or 0), min(upper))


def _configured(conf: Mapping[str, str], key: str) -> int | None:
    text = conf.get(key)
    if text is not None and not text.strip().isdecimal():
        raise InvalidInput(f"{key} must be a whole number, got {text!r}")
    return None if text is None else int(text)
