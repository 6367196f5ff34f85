"""Typed values out of a JSON object. What does not fit is refused with the place, the name, the rule and the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.core.errors import InvalidInput, UnknownName
from tidegate.core.reading import shown


def number(place: str, name: str, value: Any, bounds: tuple[float, float]) -> float:
    """A number within bounds, both inclusive.

    >>> number("run.json", "took", -2, (0, 10))
    Traceback (most recent call last):
    tidegate.core.errors.InvalidInput: run.json: need 0 <= took <= 10, got -2
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{place}: need a number as {name}, got {shown(value)}")
    if not bounds[0] <= value <= bounds[1]:
        raise InvalidInput(f"{place}: need {bounds[0]:g} <= {name} <= {bounds[1]:g}, got {shown(value)}")
    return value


@dataclass(frozen=True, slots=True)
class CheckedFields:
    """The values of an object by name; `place` begins every sentence."""

    place: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, place: str, values: Any, known: Sequence[str]) -> CheckedFields:
        """Rejects a value that is no object, and keys that are not known."""
        if not isinstance(values, Mapping):
            raise InvalidInput(f"{place}: need an object, got {shown(values)}")
        for key in values:
            if key not in known:
                raise UnknownName(f"key ({place})", str(key)[:60], known)
        return cls(place, values)

    def number(self, name: str, least: float, most: float) -> float:
        return number(self.place, name, self._value(name), (least, most))

    def whole(self, name: str, least: int, most: int) -> int:
        value = self.number(name, least, most)
        if value != int(value):
            raise InvalidInput(f"{self.place}: need a whole number as {name}, got {value:g}")
        return int(value)

    def text(self, name: str, longest: int = 1000) -> str:
        value = self._value(name)
        if not isinstance(value, str) or not 0 < len(value) <= longest:
            raise InvalidInput(f"{self.place}: need text of up to {longest} characters as {name}, got {shown(value)}")
        return value

    def items(self, name: str, most: int) -> list[Any]:
        value = self._value(name)
        if not isinstance(value, list) or len(value) > most:
            raise InvalidInput(f"{self.place}: need a list of up to {most:,} values as {name}, got {shown(value)}")
        return value

    def table(self, name: str) -> Mapping[str, Any] | None:
        """An object, or None if there is none."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise InvalidInput(f"{self.place}: need an object as {name}, got {shown(value)}")
        return value

    def _value(self, name: str) -> Any:
        if name not in self.values:
            raise InvalidInput(f"{self.place}: {name} is missing")
        return self.values[name]
