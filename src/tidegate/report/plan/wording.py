"""Numbers and intervals of a plan as text."""

from __future__ import annotations

from tidegate.planner.averaging import Interval, SlotsInterval
from tidegate.report.plan.page import executors
from tidegate.units import count


def sentence(text: str) -> str:
    """
    >>> sentence("one more run would do"), sentence("It does."), sentence("")
    ('One more run would do.', 'It does.', '')
    """
    text = text.strip()
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def sentences(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Without those that are empty.

    >>> sentences(("a", "", "b"))
    ('A.', 'B.')
    """
    return tuple(sentence(text) for text in texts if text.strip())


def plural(number: float, noun: str) -> str:
    """
    >>> plural(1, "slot"), plural(1200, "slot")
    ('1 slot', '1,200 slots')
    """
    return f"{number:,.0f} {noun}{'s' * (number != 1)}"


def span(interval: SlotsInterval, cores: int = 1) -> str:
    """The bounds of an interval of slots, in executors.

    >>> span(SlotsInterval(31, 32, 38)), span(SlotsInterval(31, 32, 38), cores=4), span(SlotsInterval(8, 8, 8))
    ('31 to 38', '8 to 10', '8')
    >>> span(SlotsInterval(31, None, None)), span(SlotsInterval(None, None, None))
    ('31 or more', 'more than can be predicted')
    """
    if interval.low is None:
        return "more than can be predicted"
    low = executors(interval.low, cores)
    if interval.high is None:
        return f"{low:,} or more"
    high = executors(interval.high, cores)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def rates(interval: Interval) -> str:
    """
    >>> rates(Interval(4_886_728.0, 5e6, 6_218_276.0)), rates(Interval(950e3, 1e6, 1.05e6))
    ('4.89 to 6.22 M', '950 k to 1.05 M')
    """
    return between(interval.low, interval.high)


def between(low: float, high: float) -> str:
    """The prefix is written once if both have the same.

    >>> between(900.0, 990.0), between(1e6, 1e6)
    ('900 to 990', '1 M')
    """
    first, last = count(low), count(high)
    if first == last:
        return last
    number, _, prefix = first.partition(" ")
    return f"{number if prefix == last.partition(' ')[2] else first} to {last}"
