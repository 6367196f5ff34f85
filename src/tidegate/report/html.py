"""A page as one HTML file that opens offline. Whatever comes from data is escaped here, and only here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from bokeh.embed import components

from tidegate.report.charts import figures, time_unit
from tidegate.report.choices import Choice, Fold, fold
from tidegate.report.document import document, shown, told
from tidegate.report.facts import Fact
from tidegate.report.looks import LOOKS, MARKS, TARGET, Look
from tidegate.report.units import clock, seconds
from tidegate.report.view import Chart, Happening, Page

#: a run's status, or whether it is verified, to the tone of its badge
TONES = {"done": "good", "running": "plain", "interrupted": "warn", "failed": "bad"}
VERIFIED = {True: ("verified", "good"), False: ("output differs", "bad"), None: ("not verified", "plain")}


def render(page: Page) -> str:
    """The whole document, a megabyte of which is Bokeh's own script."""
    script, plots = components(figures(page)) if page.charts else ("", {})
    return document(
        "page.html",
        "run report",
        page.title,
        script,
        badges=_badges(page),
        notice=_notice(page),
        facts="\n".join(told(fact) for fact in page.facts),
        figures="\n".join(shown(fact) for fact in page.figures),
        charts=_charts(page, plots),
        choices=_choices(page.choices),
        events=_events(page.events),
        scores=_scores(page.scores),
    )


def _badges(page: Page) -> str:
    badges = [(page.status, TONES.get(page.status, "plain")), VERIFIED[page.verified]]
    return " ".join(f'<span class="badge {tone}">{escape(text)}</span>' for text, tone in badges)


def _notice(page: Page) -> str:
    tone = TONES.get(page.status, "plain")
    return f'<p class="notice {tone}">{escape(page.notice)}</p>' if page.notice else ""


def _charts(page: Page, plots: dict[str, str]) -> str:
    if not page.charts:
        return ""
    drawn = "\n".join(_chart(chart, page, plots[chart.key]) for chart in page.charts)
    span = page.times[-1] - min(0.0, page.times[0])
    since = "Seconds" if time_unit(span) == "seconds" else "Minutes and seconds"
    hint = f"{since} since the start. Drag to zoom into a time, double-click to see all of it again."
    return f'<section class="charts">\n<h2>What happened</h2>\n<p class="hint">{hint}</p>\n{drawn}\n</section>'


def _chart(chart: Chart, page: Page, plot: str) -> str:
    keys = [_key(LOOKS[series.key], series.name) for series in chart.series]
    if chart.target is not None:
        keys.append(_key(TARGET, f"target {seconds(chart.target)}"))
    if chart.key == "executors":
        keys += _marks(page)
    caption = f'<figcaption><b>{escape(chart.title)}</b><span class="keys">{"".join(keys)}</span></figcaption>'
    return f"<figure>{caption}{plot}</figure>"


def _key(look: Look, name: str) -> str:
    border = f"border-top:{max(look.width, 2):g}px {look.dash} {look.colour}"
    fill = f"height:9px;background:{look.colour}{round(look.fill * 255):02x}" if look.fill else ""
    return f'<span><i style="{border};{fill}"></i>{escape(name)}</span>'


def _marks(page: Page) -> list[str]:
    """Keys of the marks that the page has."""
    present = {choice.outcome for choice in page.choices} | ({"event"} if page.events else set())
    shown = [mark for key, mark in MARKS.items() if key in present]
    return [f'<span><em style="color:{mark.colour}">{mark.sign}</em>{mark.name}</span>' for mark in shown]


def _choices(choices: Sequence[Choice]) -> str:
    if not choices:
        return ""
    changes = fold([choice for choice in choices if choice.outcome != "hold"])
    rows = _table(_row(one) for one in changes) if changes else "<p>All were to hold.</p>"
    every = _table(_row(one) for one in fold(choices))
    summary = f"<summary>All {len(choices)} decisions, those to hold included</summary>"
    folded = '<p class="hint">Where only the figures in a reason changed, the last one stands for all.</p>'
    details = f"<details>{summary}{folded}\n{every}</details>"
    return f'<section class="decisions"><h2>Decisions</h2>\n{rows}\n{details}</section>'


def _table(rows: Iterable[str]) -> str:
    head = "<tr><th>Time</th><th>Executors</th><th>By</th><th>Reason</th></tr>"
    return f"<table><thead>{head}</thead><tbody>\n{chr(10).join(rows)}\n</tbody></table>"


def _row(one: Fold) -> str:
    choice = one.last
    cells = f"<td>{_span(one)}</td><td>{_change(choice)}</td><td>{escape(choice.by)}</td><td>{_reasons(choice)}</td>"
    return f'<tr class="{choice.outcome}">{cells}</tr>'


def _span(one: Fold) -> str:
    if one.count == 1:
        return clock(one.last.time)
    return f"{clock(one.since)} to {clock(one.last.time)} <small>{one.count} times</small>"


def _change(choice: Choice) -> str:
    if choice.outcome == "hold":
        return f"{choice.before}"
    return f"<i>{MARKS[choice.outcome].sign}</i> {choice.before} → {choice.after}"


def _reasons(choice: Choice) -> str:
    """The whole chain; who spoke is said where there is more than one."""
    if len(choice.chain) == 1:
        return escape(choice.chain[0][1])
    items = "".join(f"<li><b>{escape(by)}</b> {escape(reason)}</li>" for by, reason in choice.chain)
    return f"<ol>{items}</ol>"


def _events(events: Sequence[Happening]) -> str:
    if not events:
        return ""
    told = ((clock(event.time), event.kind, event.message) for event in events)
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>" for cells in told)
    head = "<tr><th>Time</th><th>Event</th><th>Message</th></tr>"
    return f'<section class="events"><h2>Events</h2><table><thead>{head}</thead><tbody>{rows}</tbody></table></section>'


def _scores(scores: Sequence[Fact]) -> str:
    if not scores:
        return ""
    rows = "\n".join(f"<div><dt>{escape(fact.label)}</dt><dd>{escape(fact.value)}</dd></div>" for fact in scores)
    return f'<section class="scores"><h2>Score</h2><dl>\n{rows}\n</dl></section>'
