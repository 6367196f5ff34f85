"""`tidegate policies`: a list of the policies, and a page about each."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text

from tidegate.cli.console import AsJson, Output, out, print_json

#: keeps a number and its unit on one line
NO_BREAK = "\u00a0"

if TYPE_CHECKING:
    from rich.table import Table

    from tidegate.core import Parameter
    from tidegate.presets import Preset


def policies(
    name: Annotated[str | None, typer.Argument(help="show one policy; default: list all")] = None,
    output: AsJson = Output.text,
) -> None:
    """List the policies, or describe one: its rule, source, parameters and guards.

    [bold]tidegate policies ds2[/bold]
    [bold]tidegate run --policy ds2 -p overprovision=1.3 -p cooldown-up=2m[/bold]
    """
    from tidegate.presets import preset, presets  # noqa: PLC0415
    from tidegate.presets.plugins import installed  # noqa: PLC0415

    if name is not None:
        policy = preset(name)
        if output is Output.json:
            print_json(_facts(name, policy))
        else:
            _page(name, policy)
        return
    available, broken = presets(), installed().broken
    if output is Output.json:
        listed = [_facts(key, policy) for key, policy in available.items()]
        print_json([*listed, *({"name": key, "error": error} for key, error in broken.items())])
    else:
        _list(available.items(), broken.items())


def _facts(name: str, policy: Preset) -> dict[str, Any]:
    return {
        "name": name,
        "summary": policy.summary,
        "source": policy.source,
        "parameters": [_plain(parameter) for parameter in policy.own.values()],
        "guards": [_plain(parameter) for parameter in policy.guards.values()],
    }


def _plain(parameter: Parameter) -> dict[str, Any]:
    return {key: value for key, value in asdict(parameter).items() if value not in (None, ())}


def _list(available: Iterable[tuple[str, Preset]], broken: Iterable[tuple[str, str]]) -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table.grid(padding=(0, 2))
    for name, policy in available:
        options = ", ".join(f"{parameter.name}{NO_BREAK}{_value(parameter)}" for parameter in policy.own.values())
        about = Text.assemble(f"{policy.summary}\n", (f"{policy.source}\n", "cyan"), (options, "dim"))
        table.add_row(Text(name, "bold"), about)
    for name, error in broken:
        table.add_row(Text(name, "bold red"), Text(f"plug-in that could not be loaded: {error}", "red"))
    out.print(table, highlight=False)
    out.print("\nEach policy also takes guards; list them with [bold]tidegate policies NAME[/bold]", highlight=False)


def _page(name: str, policy: Preset) -> None:
    out.print(Text.assemble((name, "bold"), f": {policy.summary} ", (f"({policy.source})", "cyan")), highlight=False)
    module = inspect.getmodule(policy.policy)
    rule = inspect.cleandoc((module.__doc__ if module else None) or policy.policy.__doc__ or "")
    out.print(Text(f"\n{_flowing(rule.removeprefix(f'`{name}`: '))}"), highlight=False)
    for kind, parameters in (("parameter", policy.own), ("guard", policy.guards)):
        out.print()
        out.print(_table(kind, parameters.values()), highlight=False)
    out.print(f"Set them with [bold]-p NAME=VALUE[/bold]. More in docs/policies/{escape(name)}.md", highlight=False)


def _flowing(text: str) -> str:
    """Paragraphs on one line each, so that the terminal can wrap them; indented formulas stay as they are.

    >>> _flowing("a\\nb\\n\\n    x = 1\\n    y = 2")
    'a b\\n\\n    x = 1\\n    y = 2'
    """
    parts = text.split("\n\n")
    return "\n\n".join(part if part.startswith(" ") else " ".join(part.split()) for part in parts)


def _table(title: str, parameters: Iterable[Parameter]) -> Table:
    from rich.table import Table  # noqa: PLC0415

    table = Table(title, "default", "meaning", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for parameter in parameters:
        choices = f" ({', '.join(parameter.choices)})" if parameter.choices else ""
        # as text: meanings of plug-ins' parameters may contain brackets
        table.add_row(*map(Text, (parameter.name, _value(parameter), f"{parameter.meaning}{choices}")))
    return table


def _value(parameter: Parameter) -> str:
    """The default with its unit, joined by a no-break space: `60 s`, `70 %`, `15 loops`, `none`; in words where it is
    that of a live query.
    """
    if parameter.live is not None:
        return parameter.live.replace(" ", NO_BREAK)
    if isinstance(parameter.default, str):
        return parameter.default or "none"
    if parameter.unit == "share":
        return f"{100 * parameter.default:g}{NO_BREAK}%"
    return f"{parameter.default:g}{NO_BREAK}{parameter.unit}".strip()
