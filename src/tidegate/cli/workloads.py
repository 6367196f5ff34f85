"""`tidegate workloads`: lists and draws the workloads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text

from tidegate.cli.bounds import SEEDS, between
from tidegate.cli.console import AsJson, Output, err, out, print_json
from tidegate.core import InvalidInput, amounts

if TYPE_CHECKING:
    from tidegate.workloads import Shape

#: points of a curve in JSON: one per minute for the patterns of 140 minutes
POINTS = 140
OWN = ("trace:FILE", "your own: CSV or Parquet with the columns time and rate")


def workloads(
    name: Annotated[str | None, typer.Argument(help="draw one workload, or trace:FILE; default: list all")] = None,
    duration: Annotated[str | None, typer.Option(help="like 90s, 3m, 1h; default: its own")] = None,
    rate: Annotated[str | None, typer.Option(help="peak rate in records/s, like 100k; default: its own")] = None,
    seed: Annotated[
        int | None, typer.Option(help="seed of random patterns and of the noise", callback=between(0, SEEDS))
    ] = None,
    noise: Annotated[float, typer.Option(help="random noise, as a share of the rate: 0.1 is ±10 %")] = 0.0,
    html: Annotated[Path | None, typer.Option(help="also write the curves to this HTML file")] = None,
    output: AsJson = Output.text,
) -> None:
    """List the workloads, or draw one.

    [bold]tidegate workloads cosine --duration 10m --rate 80k[/bold]
    [bold]tidegate workloads trace:monday.parquet[/bold]
    """
    from tidegate.workloads import NAMED, named  # noqa: PLC0415

    length = None if duration is None else amounts.duration(duration)
    peak = None if rate is None else amounts.rate(rate)
    names = list(NAMED) if name is None else [name]
    shapes = {key: named(key, length, peak, seed=seed, noise=noise) for key in names}
    if output is Output.json:
        facts = [_facts(key, shape) for key, shape in shapes.items()]
        print_json(facts if name is None else facts[0])
    elif name is None:
        _list(shapes)
    else:
        _draw(name, shapes[name])
    if html is not None:
        _page(html, shapes)


def _about(name: str) -> tuple[str, str]:
    """Summary and source of a workload."""
    from tidegate.workloads import NAMED  # noqa: PLC0415

    pattern = NAMED.get(name)
    return (pattern.summary, pattern.source) if pattern else ("recorded", name.removeprefix("trace:"))


def _facts(name: str, shape: Shape) -> dict[str, Any]:
    """`points` are the mean rates of equal parts of the duration, each with the start time of its part."""
    summary, source = _about(name)
    means = enumerate(shape.means(POINTS).tolist())
    return {
        "name": name,
        "summary": summary,
        "source": source,
        "duration": shape.duration,
        "peak": shape.highest(),
        "mean": shape.average(),
        "points": [[k * shape.duration / POINTS, mean] for k, mean in means],
    }


def _list(shapes: Mapping[str, Shape]) -> None:
    from rich.table import Table  # noqa: PLC0415

    from tidegate.cli.drawing import bars, span  # noqa: PLC0415
    from tidegate.units import count  # noqa: PLC0415

    table = Table.grid(padding=(0, 2))
    width = min(60, max(12, out.width // 4))
    for name, shape in shapes.items():
        summary, source = _about(name)
        size = f"{span(shape.duration)}, up to {count(shape.highest())}/s"
        curve = bars(shape.means(width).tolist(), _top(shape, width), rows=2)
        about = Text.assemble(f"{summary}\n", (f"{source}: {size}", "dim"))
        table.add_row(Text(name, "bold"), Text("\n".join(curve), "cyan"), about)
    table.add_row(Text(OWN[0], "bold"), "", Text(OWN[1]))
    out.print(table, highlight=False)


def _draw(name: str, shape: Shape) -> None:
    from tidegate.cli.drawing import plot, span  # noqa: PLC0415
    from tidegate.units import count  # noqa: PLC0415

    summary, source = _about(name)
    out.print(f"[bold]{escape(name)}[/bold]: {escape(summary)} ({escape(source)})", highlight=False)
    width = min(140, max(24, out.width - 12))
    lines = plot(shape.means(width).tolist(), _top(shape, width), shape.duration)
    out.print(Text("\n".join(lines), "cyan", no_wrap=True, overflow="crop"))
    mean, peak, total = count(shape.average()), count(shape.highest()), shape.total(shape.duration)
    out.print(f"{span(shape.duration)}, {mean}/s on average, peak {peak}/s, {total:,} records", highlight=False)


def _top(shape: Shape, columns: int) -> float:
    """Height of the plot: the peak, or more where noise exceeds it."""
    return max(shape.highest(), float(shape.means(columns).max()))


def _page(path: Path, shapes: Mapping[str, Shape]) -> None:
    from tidegate.report.workloads import Sketch, render  # noqa: PLC0415

    document = render([Sketch(name, *_about(name), shape) for name, shape in shapes.items()])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write the page to {path}: {error.strerror}") from None
    err.print(escape(f"page: {path}"), soft_wrap=True, highlight=False)
