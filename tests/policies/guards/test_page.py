"""The page about guards, the options of every policy, and what the command line prints of them are the same."""

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegate.cli import main
from tidegate.core import Parameter, parameters
from tidegate.policies.guards import GuardSettings
from tidegate.presets import PRESETS
from tidegate.presets.definition import GUARDS

PAGE = (Path(__file__).parents[3] / "docs" / "guards.md").read_text(encoding="utf-8")
OPTIONS = {**parameters(GuardSettings), GUARDS.name: GUARDS}
EVERYTHING = GuardSettings(
    down_window=60, cooldown_up=15, min_change=0.1, dead_band_down=1, step_up=2, late=10, catching_up=30, core_quota=16,
    effect=0.5, pause="in", excluded="12:00-12:10",
)  # fmt: skip


def rows(section: str) -> Iterator[list[str]]:
    """The cells of the first table below a heading, without the names of its columns."""
    text = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return ([cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines)


def shown(parameter: Parameter) -> str:
    if parameter.live is not None:
        return parameter.live
    return parameter.default if isinstance(parameter.default, str) else f"{parameter.default:g}"


def exceptions() -> dict[tuple[str, str], str]:
    """Defaults by preset and option, from the page."""
    return {
        (name, option): default
        for option, text in rows("Presets")
        for default, names in re.findall(r"([\d.]+): ([^;]*)", text)
        for name in re.findall(r"[\w-]+", names)
    }


def test_the_page_has_every_option_with_its_default_and_unit() -> None:
    told = {row[1]: (row[2], row[3]) for row in rows("The chain")}
    assert told == {name: (shown(parameter), parameter.unit) for name, parameter in OPTIONS.items()}


def test_the_page_has_the_guards_in_the_order_of_the_chain() -> None:
    told = [row[0] for row in rows("The chain") if row[0] and row[0] != "*yours*"]
    assert told == [guard.name for guard in EVERYTHING.chain()]


@pytest.mark.parametrize("name", PRESETS)
def test_the_page_has_every_default_that_a_preset_changes(name: str) -> None:
    changed = {option: shown(parameter) for option, parameter in PRESETS[name].guards.items()}
    different = {option: default for option, default in changed.items() if default != shown(OPTIONS[option])}
    assert different == {option: default for (preset, option), default in exceptions().items() if preset == name}


@pytest.mark.parametrize("name", ["hpa-cpu", "ds2", "static"])
def test_the_command_line_prints_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "argv", ["tidegate", "policies", name])
    with contextlib.suppress(SystemExit):
        main()
    text = re.sub(r"\s+", " ", capsys.readouterr().out).partition("guard default meaning ")[2]
    told = {row[1]: row[2] for row in rows("The chain")}
    for option, parameter in OPTIONS.items():
        default = exceptions().get((name, option), told[option])
        if parameter.unit == "share":
            default = f"{100 * float(default):g} %"
        elif default.isdigit():
            default = f"{default} {parameter.unit}".strip()
        assert f"{option} {default or 'none'} {parameter.meaning}" in text
