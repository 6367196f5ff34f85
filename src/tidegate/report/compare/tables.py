"""The tables of a comparison: a row for each policy, the best of each column marked. What is from data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby

from tidegate.report.compare.columns import Column, Record, best
from tidegate.report.compare.estimate import Estimate
from tidegate.report.compare.page import Cell, Page
from tidegate.report.facts import text
from tidegate.report.looks import Look
from tidegate.report.units import UNKNOWN

#: failed runs that are told one by one
MOST = 100


def overall(page: Page) -> str:
    """Means over all cells. Who did not finish every run is not marked as the best of anything."""
    columns = page.columns(overall=True)
    figures = [page.overall(column) for column in columns]
    marked = [
        best(column, {who: one for who, one in found.items() if page.whole(who)})
        for column, found in zip(columns, figures, strict=True)
    ]
    rows = (_row(page, who, _cells(who, columns, figures, marked), _finished(page, who)) for who in page.policies)
    return _table(columns, rows)


def cell(one: Cell, page: Page, columns: Sequence[Column]) -> str:
    """Means over the seeds of a cell."""
    figures = [one.estimates(column) for column in columns]
    marked = [
        best(column, {who: got for who, got in found.items() if not one.failed[who]})
        for column, found in zip(columns, figures, strict=True)
    ]
    there = [who for who in page.policies if who in one.runs or one.failed[who]]
    rows = (_row(page, who, _cells(who, columns, figures, marked), _seeds(one, who)) for who in there)
    return _table(columns, rows)


def _table(columns: Sequence[Column], rows: Iterable[str]) -> str:
    groups = [(name, len(list(same))) for name, same in groupby(columns, key=lambda column: column.group)]
    above = "".join(f'<th colspan="{wide}"><span>{escape(name)}</span></th>' for name, wide in groups)
    titles = "".join(f'<th title="{escape(column.note)}">{escape(column.title)}</th>' for column in columns)
    head = f'<tr class="groups"><th></th>{above}</tr><tr><th>policy</th>{titles}</tr>'
    body = "\n".join(rows)
    return f'<div class="scroll"><table class="scoreboard"><thead>{head}</thead><tbody>\n{body}\n</tbody></table></div>'


def _row(page: Page, policy: str, cells: str, note: str) -> str:
    small = f'<small class="warn">{escape(note)}</small>' if note else ""
    name = button(page, policy)
    return f'<tr data-policy="p{page.policies.index(policy)}"><td>{name}{small}</td>{cells}</tr>'


def _cells(
    who: str,
    columns: Sequence[Column],
    figures: Sequence[Mapping[str, Estimate]],
    marked: Sequence[frozenset[str]],
) -> str:
    each = zip(columns, figures, marked, strict=True)
    return "".join(_cell(column, found.get(who), who in winners) for column, found, winners in each)


def _cell(column: Column, one: Estimate | None, winner: bool) -> str:
    if one is None:
        return f"<td>{UNKNOWN}</td>"
    value = escape(column.write(one.mean))
    shown = f'<b title="best">{value}</b>' if winner else value
    trust = "" if one.half is None else f"<small>± {escape(column.write(one.half))}</small>"
    never = f"<small>{one.missed} never</small>" if one.missed and one.mean != float("inf") else ""
    start = '<td class="best">' if winner else "<td>"
    return f"{start}{shown}{trust}{never}</td>"


def _finished(page: Page, policy: str) -> str:
    cells = sum(1 for cell in page.cells if cell.runs.get(policy))
    failed = sum(cell.failed[policy] for cell in page.cells)
    missing = f"{cells} of {len(page.cells)} cells" if cells < len(page.cells) else ""
    return ", ".join(part for part in (missing, f"{failed} failed" if failed else "") if part)


def _seeds(one: Cell, policy: str) -> str:
    return (
        f"{one.failed[policy]} of {one.failed[policy] + len(one.runs.get(policy, ()))} failed"
        if one.failed[policy]
        else ""
    )


def button(page: Page, policy: str) -> str:
    """A policy's name with its line, which hides and shows it in all charts."""
    key, line = f"p{page.policies.index(policy)}", swatch(page.look(policy))
    return f'<button type="button" data-policy="{key}" aria-pressed="true">{line}{escape(policy)}</button>'


def swatch(look: Look) -> str:
    return f'<i style="border-top:{max(look.width, 3):g}px {look.dash} {look.colour}"></i>'


def failures(failed: Sequence[Record]) -> str:
    """Which runs failed, and why."""
    if not failed:
        return ""
    rows = "\n".join(_failure(run) for run in failed[:MOST])
    head = "<tr><th>Run</th><th>Policy</th><th>Job</th><th>Workload</th><th>Seed</th><th>Error</th></tr>"
    more = f'<p class="hint">{len(failed) - MOST} more are not listed.</p>' if len(failed) > MOST else ""
    table = f"<table><thead>{head}</thead><tbody>\n{rows}\n</tbody></table>{more}"
    return f'<section class="failures" id="failed"><h2>Failed runs</h2>\n{table}</section>'


def _failure(run: Record) -> str:
    told = (text(run.get(key)) for key in ("run", "policy", "job", "workload", "seed", "error"))
    return "<tr>" + "".join(f"<td>{escape(part)}</td>" for part in told) + "</tr>"


def notes(columns: Sequence[Column]) -> str:
    """What each column means."""
    items = "\n".join(
        f"<div><dt>{escape(f'{column.group}: {column.title}' if column.group else column.title)}</dt>"
        f"<dd>{escape(column.note)}</dd></div>"
        for column in columns
    )
    return f"<dl>\n{items}\n</dl>"
