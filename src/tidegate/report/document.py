"""Pages as one HTML file each that opens offline: what they share, from the head to the last script."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from bokeh.resources import Resources

from tidegate.report.facts import Fact


def document(template: str, what: str, title: str, script: str, **parts: str) -> str:
    """A whole page: `template` is the file of its body, `parts` are put into it; `script` draws its charts, and without
    one the page needs no megabyte of Bokeh. Only `title` is escaped here.
    """
    badges = parts.pop("badges", "")
    return Template(resource("frame.html")).substitute(
        what=what,
        title=escape(title),
        style=resource("style.css"),
        resources=Resources(mode="inline", components=["bokeh"]).render_js() if script else "",
        badges=f'<p class="badges">{badges}</p>' if badges else "",
        body=Template(resource(template)).substitute(parts),
        script=script,
    )


def resource(name: str) -> str:
    return files("tidegate.report").joinpath(name).read_text(encoding="utf-8")


def told(fact: Fact) -> str:
    """A line of the list of facts."""
    note = f" <small>{escape(fact.note)}</small>" if fact.note else ""
    return f"<div><dt>{escape(fact.label)}</dt><dd>{escape(fact.value)}{note}</dd></div>"


def shown(fact: Fact) -> str:
    """One of the few large figures."""
    label, value, note = escape(fact.label), escape(fact.value), escape(fact.note)
    return f'<div><h3>{label}</h3><p class="value">{value}</p><p class="note">{note}</p></div>'
