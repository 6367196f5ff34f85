"""`tidegate policies`: the policies there are, and the page of each."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tidegate.cli.console import AsJson, Output, out, print_json

#: keeps a number and its unit on one line
NO_BREAK = "\u00a0"

if TYPE_CHECKING:
    from tidegate.core import Parameter
    from tidegate.presets import Preset


def policies(
    name: Annotated[str | None, typer.Argument(help="one of them; if not given, all")] = None,
    output: AsJson = Output.text,
) -> None:
    """List the policies, or tell all about one: its rule, its source, its parameters and its guards.

    Options are given as [bold]tidegate run --policy ds2 -p overprovision=1.3 -p cooldown-up=2m[/bold]
    """
    from tidegate.presets import preset, presets  # noqa: PLC0415
    from tidegate.presets.plugins import installed  # noqa: PLC0415

    if name is not None:
        one = preset(name)
        if output is Output.json:
            print_json(_facts(name, one))
        else:
            _page(name, one)
        return
    known, broken = presets(), installed().broken
    if output is Output.json:
        listed = [_facts(key, one) for key, one in known.items()]
        print_json([*listed, *({"name": key, "error": error} for key, error in broken.items())])
    else:
        _list(known.items(), broken.items())


def _facts(name: str, one: Preset) -> dict[str, Any]:
    told = {"name": name, "summary": one.summary, "source": one.source}
    kinds = {"parameters": one.own, "guards": one.guards}
    return {**told, **{kind: [_plain(p) for p in found.values()] for kind, found in kinds.items()}}


def _plain(one: Parameter) -> dict[str, Any]:
    return {key: value for key, value in asdict(one).items() if value not in (None, ())}


def _list(known: Iterable[tuple[str, Preset]], broken: Iterable[tuple[str, str]]) -> None:
    table = Table.grid(padding=(0, 2))
    for name, one in known:
        options = ", ".join(f"{p.name}{NO_BREAK}{_value(p)}" for p in one.own.values())
        told = Text.assemble(f"{one.summary}\n", (f"{one.source}\n", "cyan"), (options, "dim"))
        table.add_row(Text(name, "bold"), told)
    for name, error in broken:
        table.add_row(Text(name, "bold red"), Text(f"plug-in that could not be loaded: {error}", "red"))
    out.print(table, highlight=False)
    out.print("\nGuards can be added to each: [bold]tidegate policies NAME[/bold]", highlight=False)


def _page(name: str, one: Preset) -> None:
    out.print(Text.assemble((name, "bold"), f": {one.summary} ", (f"({one.source})", "cyan")), highlight=False)
    module = inspect.getmodule(one.policy)
    rule = inspect.cleandoc((module.__doc__ if module else None) or one.policy.__doc__ or "")
    out.print(Text(f"\n{_flowing(rule.removeprefix(f'`{name}`: '))}"), highlight=False)
    out.print(_table("parameter", one.own.values()), highlight=False)
    out.print(_table("guard", one.guards.values()), highlight=False)
    out.print(f"Give them as [bold]-p NAME=VALUE[/bold]. More in docs/policies/{name}.md", highlight=False)


def _flowing(text: str) -> str:
    """Paragraphs as one line each, for the terminal to break; formulas, which are indented, as they stand.

    >>> _flowing("a\\nb\\n\\n    x = 1\\n    y = 2")
    'a b\\n\\n    x = 1\\n    y = 2'
    """
    parts = text.split("\n\n")
    return "\n\n".join(part if part.startswith(" ") else " ".join(part.split()) for part in parts)


def _table(title: str, found: Iterable[Parameter]) -> Table:
    table = Table(title, "default", "meaning", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for one in found:
        choices = f" ({', '.join(one.choices)})" if one.choices else ""
        table.add_row(one.name, _value(one), f"{one.meaning}{choices}")
    out.print()
    return table


def _value(one: Parameter) -> str:
    """A default with its unit, which no line break parts: `60 s`, `70 %`, `15 loops`, `none`."""
    if isinstance(one.default, str):
        return one.default or "none"
    if one.unit == "share":
        return f"{100 * one.default:g}{NO_BREAK}%"
    return f"{one.default:g}{NO_BREAK}{one.unit}".strip()
