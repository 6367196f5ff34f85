"""A back-test in the terminal, and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.text import Text

from tidegate.cli.compare_view import starred
from tidegate.cli.layout import Column, Laid, Line, lay_out
from tidegate.cli.times import utc
from tidegate.units import UNKNOWN, clock, count, seconds, share

if TYPE_CHECKING:
    from tidegate.backtest.held_out import Tuning
    from tidegate.backtest.recommendation import Limit, Row
    from tidegate.backtest.request import Overload
    from tidegate.backtest.tune import Score
    from tidegate.experiment.settings import Experiment
    from tidegate.runs import LateStretch

HOUR = 3600.0


def overload(excess: Overload, e: Experiment) -> str:
    """A warning that comes first: no policy can help where the executors do not suffice."""
    executors = f"{e.maximum} executor{'s' if e.maximum > 1 else ''}"
    remedy = (
        f"{excess.needed} executors could handle it."
        if excess.needed
        else "More executors would not help, the query has too few partitions."
    )
    return (
        f"[yellow]The trace's peak is too high:[/yellow] {count(excess.rate)}/s over "
        f"{seconds(min(e.slo, e.duration))} from {clock(excess.at)} on. The load exceeds {count(excess.capacity)}/s, "
        f"the capacity of {executors}, for {clock(excess.seconds)} in total. {remedy}"
    )


def heading(e: Experiment, file: str, allowed: float) -> str:
    load = f"{clock(e.duration)}, up to {count(e.peak)}/s"
    objective = f"{share(allowed)} of the records may take more than {seconds(e.slo)}"
    return f"[bold]{escape(file)}[/bold] ({load}) with the model of {escape(e.job)}: {objective}"


def table(rows: Sequence[Row], oracle: Limit | None, best: Row | None, width: int = 80) -> Laid:
    """A line for each policy, with ★ at the best; then the references: the best static number, and the oracle."""
    paid = any(row.cost is not None for row in rows)
    columns = (
        Column("policy", right=False, elide=True),
        Column("worker-h"),
        *((Column("cost"),) if paid else ()),
        Column("÷ oracle", drop=1),
        Column("÷ static", drop=2),
        Column("late"),
        Column("p95", drop=3),
        Column("rescales/day", drop=4),
    )
    lines: list[Line] = []
    for row in rows:
        money = (_money(row.cost),) if paid else ()
        ratios = (_ratio(row.oracle), _ratio(row.static))
        latency = (_late(row.late), _latency(row.p95), f"{row.rescales:.0f}")
        lines.append([starred(row.policy, row is best), f"{row.seconds / HOUR:,.1f}", *money, *ratios, *latency])
    if oracle is not None:
        money = (_money(oracle.cost),) if paid else ()
        name = starred("oracle", best=False)
        lines.append([name, f"{oracle.seconds / HOUR:,.1f}", *money, "1.00", "", _late(oracle.late), "", ""])
    return lay_out(columns, lines, width)


def _money(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.2f}"


def _latency(value: float) -> str:
    """No record takes no time: 0 means that there was none to measure."""
    return seconds(value) if value > 0 else UNKNOWN


def _ratio(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def _late(value: float) -> str:
    return f"{value:.2%}"


def remarks(rows: Sequence[Row], origin: float | None = None) -> list[str]:
    """When records were late for longest, and what profiling runs cost. `origin` is the date of the trace's start."""
    late = [f"  {escape(row.policy)}: {_stretches(row.worst, origin)}" for row in rows if row.worst]
    cost = [
        f"{escape(row.policy)} needs a profile of the job: {row.profiling / HOUR:,.1f} worker-hours of profiling runs, "
        "not counted above"
        for row in rows
        if row.profiling is not None
    ]
    zero = "from the trace's start" if origin is None else "UTC"
    return [*([f"Late for longest ({zero}):", *late] if late else []), *cost]


def _stretches(worst: Sequence[LateStretch], origin: float | None = None) -> str:
    """
    >>> from tidegate.runs import LateStretch
    >>> _stretches([LateStretch(3725.0, 120.0)]), _stretches([LateStretch(3725.0, 120.0)], 1_795_000_000.0)
    ('at 1:02:05 for 2:00', 'at 2026-11-18 12:08 for 2:00')
    """
    return ", ".join(
        f"at {clock(stretch.start) if origin is None else utc(origin + stretch.start)} for {clock(stretch.seconds)}"
        for stretch in worst
    )


def advice(best: Row | None, allowed: float) -> dict[str, Any] | None:
    """The recommendation as plain values; `within` says whether its share of late records is within `allowed`."""
    if best is None:
        return None
    return {
        "policy": best.policy,
        "options": dict(best.options),
        "within": best.late <= allowed,
        "late": best.late,
        "worker_seconds": best.seconds,
        "against_static": best.static,
    }


def recommendation(best: Row | None, allowed: float, static: str) -> str:
    if best is None:
        return "No run succeeded: there is nothing to recommend."
    settings = f"with {escape(flags(best.options))}" if best.options else "with its defaults"
    if best.late > allowed:
        fewest = f"{escape(best.policy)} has the fewest, {_late(best.late)}"
        return f"[yellow]No policy keeps late records within {share(allowed)}[/yellow]; {fewest} ({settings})."
    if best.policy == static:
        return (
            f"[bold]Choose {static}[/bold]: none of these policies is cheaper within {share(allowed)} of late records."
        )
    saved = f", {abs(1 - best.static):.0%} {'less' if best.static < 1 else 'more'} than {static}" if best.static else ""
    hours = f"{best.seconds / HOUR:,.1f} worker-hours{saved}"
    return f"[bold]Choose {escape(best.policy)}[/bold] {settings}: {hours}, {_late(best.late)} late."


def flags(options: Mapping[str, float | str]) -> str:
    """Options as flags for `tidegate run`.

    >>> flags({"target": 0.8, "down-window": 120.0})
    '-p target=0.8 -p down-window=120'
    """
    return " ".join(f"-p {name}={_plain(value)}" for name, value in options.items())


def toml(policy: str, options: Mapping[str, float | str]) -> str:
    """A line for the experiment file of `tidegate compare`.

    >>> toml("hpa-cpu", {"target": 0.8, "forecaster": "arima"})
    'policies = [{ name = "hpa-cpu", label = "hpa-cpu tuned", options = { target = 0.8, forecaster = "arima" } }]'
    """
    inner = ", ".join(
        f"{name} = {value!r}".replace("'", '"') if isinstance(value, str) else f"{name} = {_plain(value)}"
        for name, value in options.items()
    )
    return f'policies = [{{ name = "{policy}", label = "{policy} tuned", options = {{ {inner} }} }}]'


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"


def tuning_table(tuned: Tuning, width: int = 80) -> Laid:
    title = f"{tuned.policy}, {tuned.result.trials} trials"
    columns = (
        Column(title, right=False),
        Column("worker-h"),
        Column("late"),
        Column("p95", drop=1),
        Column("rescales", drop=2),
    )
    lines: list[Line] = []
    for part, index in (("first two thirds", 0), ("last third, held out", 1)):
        lines.append(Text(part, "bold"))
        for name, scores in (("before", tuned.default), ("tuned", tuned.tuned)):
            lines.append([f"  {name}", *_score(scores[index])])
    return lay_out(columns, lines, width)


def _score(score: Score) -> tuple[str, ...]:
    return f"{score.seconds / HOUR:,.2f}", _late(score.late), _latency(score.p95), f"{score.rescales:.0f}"


def tuning_verdict(tuned: Tuning, best: Row | None) -> list[str]:
    """The settings, and whether to use them: only if they are also better on the held-out part."""
    if not tuned.options:
        return [f"None of the settings tried is better than the current ones of {escape(tuned.policy)}: keep them."]
    chosen = {**tuned.initial, **tuned.options}
    lines = [f"settings: {escape(flags(chosen))}", f"as TOML:  {escape(toml(tuned.policy, chosen))}"]
    before, after = tuned.default[1], tuned.tuned[1]
    change = f"{after.seconds / before.seconds - 1:+.0%} worker-hours, late {_late(before.late)} -> {_late(after.late)}"
    if tuned.better:
        whole = f"{tuned.whole.seconds / HOUR:,.1f} worker-hours, {_late(tuned.whole.late)} late"
        lines += [f"[green]On the held-out part they are better:[/green] {change}. On the whole trace: {whole}."]
        if preferred(tuned, best):
            lines += [f"[bold]Choose {escape(tuned.policy)}[/bold] with these settings."]
        return lines
    warning = "[yellow]On the held-out part they are not better[/yellow]"
    return [*lines, f"{warning}: {change}. They only fit the days they were tuned on: do not use them."]


def preferred(tuned: Tuning, best: Row | None) -> bool:
    """Whether the settings are better on the held-out part and, on the whole trace, beat the best policy so far."""
    from tidegate.compare.ranking import order  # noqa: PLC0415

    whole = order(tuned.whole.late, tuned.whole.seconds, tuned.allowed)
    return tuned.better and (best is None or whole < order(best.late, best.seconds, tuned.allowed))


def tuning_values(tuned: Tuning, best: Row | None) -> dict[str, Any]:
    chosen = {**tuned.initial, **tuned.options}
    sides = {"default": tuned.default, "tuned": tuned.tuned}
    return {
        "policy": tuned.policy,
        "trials": tuned.result.trials,
        "interrupted": tuned.result.interrupted,
        "options": chosen,
        "better": tuned.better,
        "preferred": preferred(tuned, best),
        "flags": flags(chosen),
        "toml": toml(tuned.policy, chosen),
        "whole": asdict(tuned.whole),
        **{name: {"first": asdict(first), "last": asdict(last)} for name, (first, last) in sides.items()},
    }
