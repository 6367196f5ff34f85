"""How a backtest looks: in a terminal, and as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from tidegate.report.units import clock, count, seconds, share

if TYPE_CHECKING:
    from tidegate.backtest.held_out import Tuning
    from tidegate.backtest.recommendation import Limit, Row
    from tidegate.backtest.request import Beyond
    from tidegate.backtest.tune import Score
    from tidegate.experiment.settings import Experiment

HOUR = 3600.0


def peak(found: Beyond, e: Experiment) -> str:
    """What to know before anything else: no policy can help where executors do not suffice."""
    able = f"{count(found.capacity)}/s, what {e.maximum} executor{'s' if e.maximum > 1 else ''} can do"
    more = f"{found.needed} could" if found.needed else "more would be of no use, the query has too few partitions"
    return (
        f"[yellow]The trace's peak is too high:[/yellow] {count(found.rate)}/s over {seconds(min(e.slo, e.duration))} "
        f"from {clock(found.at)} on; above {able}, for {clock(found.seconds)} in all. {more[0].upper()}{more[1:]}."
    )


def heading(e: Experiment, file: str, allowed: float) -> str:
    load = f"{clock(e.duration)}, up to {count(e.peak)}/s"
    told = f"{share(allowed)} of the records may take more than {seconds(e.slo)}"
    return f"[bold]{escape(file)}[/bold] ({load}) with the model of {escape(e.job)}: {told}"


def table(rows: Sequence[Row], oracle: Limit | None) -> Table:
    """The references last: the fewest that suffice if always there, and the limit."""
    paid = any(row.cost is not None for row in rows)
    columns = ("worker-h", *(("cost",) if paid else ()), "÷ oracle", "÷ static", "late", "p95", "rescales/day")
    found = Table("policy", *columns, box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in found.columns[1:]:
        column.justify = "right"
    for row in rows:
        money = (f"{row.cost:,.2f}" if row.cost is not None else "-",) if paid else ()
        ratios = (_ratio(row.oracle), _ratio(row.static))
        latency = (_late(row.late), seconds(row.p95), f"{row.rescales:.0f}")
        found.add_row(escape(row.policy), f"{row.seconds / HOUR:,.1f}", *money, *ratios, *latency)
    if oracle is not None:
        money = (f"{oracle.cost:,.2f}" if oracle.cost is not None else "-",) if paid else ()
        found.add_row("oracle", f"{oracle.seconds / HOUR:,.1f}", *money, "1.00", "", _late(oracle.late), "", "")
    return found


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _late(value: float) -> str:
    return f"{value:.2%}"


def remarks(rows: Sequence[Row]) -> list[str]:
    """When records were late for longest, and what had to be spent before."""
    late = [f"  {escape(row.policy)}: {_stretches(row.worst)}" for row in rows if row.worst]
    cost = [
        f"{escape(row.policy)} needs a profile of the job: {row.profiling / HOUR:,.1f} worker-hours of profiling runs, "
        "not counted above"
        for row in rows
        if row.profiling is not None
    ]
    return [*(["Late for longest (from the trace's start):", *late] if late else []), *cost]


def _stretches(worst: Sequence[Mapping[str, float]]) -> str:
    """
    >>> _stretches([{"start": 3725.0, "seconds": 120.0}])
    'at 1:02:05 for 2:00'
    """
    return ", ".join(f"at {clock(one['start'])} for {clock(one['seconds'])}" for one in worst)


def advice(best: Row | None, allowed: float) -> dict[str, Any] | None:
    """The recommendation as plain values; `within` says whether its late records are no more than allowed."""
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
        return "No run has ended well: there is nothing to recommend."
    settings = f"with {flags(best.options)}" if best.options else "with its defaults"
    if best.late > allowed:
        least = f"{escape(best.policy)} has the fewest, {_late(best.late)}"
        return f"[yellow]None is late for at most {share(allowed)}[/yellow]; {least} ({settings})."
    if best.policy == static:
        return f"[bold]Choose {static}[/bold]: no policy of these is cheaper within {share(allowed)} of late records."
    saved = f", {abs(1 - best.static):.0%} {'less' if best.static < 1 else 'more'} than {static}" if best.static else ""
    hours = f"{best.seconds / HOUR:,.1f} worker-hours{saved}"
    return f"[bold]Choose {escape(best.policy)}[/bold] {settings}: {hours}, {_late(best.late)} late."


def flags(options: Mapping[str, float | str]) -> str:
    """Ready for `tidegate run`.

    >>> flags({"target": 0.8, "down-window": 120.0})
    '-p target=0.8 -p down-window=120'
    """
    return " ".join(f"-p {name}={_plain(value)}" for name, value in options.items())


def toml(policy: str, options: Mapping[str, float | str]) -> str:
    """Ready for the file of `tidegate compare`.

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


def tuning_table(tuned: Tuning) -> Table:
    found = Table(
        f"{tuned.policy}, {tuned.found.trials} trials",
        "worker-h",
        "late",
        "p95",
        "rescales",
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
    )
    for column in found.columns[1:]:
        column.justify = "right"
    for part, place in (("first two thirds", 0), ("last third, kept out", 1)):
        found.add_row(f"[bold]{part}[/bold]")
        for name, scores in (("as it was", tuned.default), ("tuned", tuned.tuned)):
            found.add_row(f"  {name}", *_score(scores[place]))
    return found


def _score(one: Score) -> tuple[str, ...]:
    return f"{one.seconds / HOUR:,.2f}", _late(one.late), seconds(one.p95), f"{one.rescales:.0f}"


def tuning_verdict(tuned: Tuning, best: Row | None) -> list[str]:
    """Said plainly: what does not hold on the part kept out is not recommended."""
    if not tuned.options:
        return [f"No settings tried are better than those that {tuned.policy} has: leave them as they are."]
    chosen = {**tuned.given, **tuned.options}
    lines = [f"settings: {escape(flags(chosen))}", f"as TOML:  {escape(toml(tuned.policy, chosen))}"]
    before, after = tuned.default[1], tuned.tuned[1]
    change = f"{after.seconds / before.seconds - 1:+.0%} worker-hours, late {_late(before.late)} -> {_late(after.late)}"
    if tuned.better:
        whole = f"{tuned.whole.seconds / HOUR:,.1f} worker-hours, {_late(tuned.whole.late)} late"
        lines += [f"[green]On the part kept out they are better:[/green] {change}. On the whole trace: {whole}."]
        if preferred(tuned, best):
            lines += [f"[bold]Choose {escape(tuned.policy)}[/bold] with these settings."]
        return lines
    warning = "[yellow]On the part kept out they are not better[/yellow]"
    return [*lines, f"{warning}: {change}. They fit the days they were searched on: do not use them."]


def preferred(tuned: Tuning, best: Row | None) -> bool:
    """Whether the settings hold on the part kept out and, on the whole trace, are better than the best without them."""
    from tidegate.backtest.recommendation import order  # noqa: PLC0415

    whole = order(tuned.whole.late, tuned.whole.seconds, tuned.allowed)
    return tuned.better and (best is None or whole < order(best.late, best.seconds, tuned.allowed))


def tuning_values(tuned: Tuning, best: Row | None) -> dict[str, Any]:
    chosen = {**tuned.given, **tuned.options}
    sides = {"default": tuned.default, "tuned": tuned.tuned}
    return {
        "policy": tuned.policy,
        "trials": tuned.found.trials,
        "interrupted": tuned.found.interrupted,
        "options": chosen,
        "better": tuned.better,
        "preferred": preferred(tuned, best),
        "flags": flags(chosen),
        "toml": toml(tuned.policy, chosen),
        "whole": asdict(tuned.whole),
        **{name: {"first": asdict(first), "last": asdict(last)} for name, (first, last) in sides.items()},
    }
