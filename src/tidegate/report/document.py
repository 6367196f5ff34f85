"""HTML from Jinja2 templates: the only module that loads templates and style sheets, and that declares text as safe.

Every page is one file that opens offline. Templates escape every value; what is not escaped (`Markup`) is made here:
the style sheets, Bokeh's own output, and JSON for a script element.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from bokeh.embed import components
from bokeh.models import Model
from bokeh.resources import Resources
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tidegate.report.looks import INK, MARKS
from tidegate.report.timescale import iso, length_of_time, utc
from tidegate.units import clock, exact, seconds, share

#: at the place where a ratio to the oracle is shown
ORACLE_NOTE = (
    "The oracle is the cheapest schedule that keeps the SLO. A policy that is late can cost less: its ratio is below 1."
)


def document(template: str, title: str, *, draws: bool, **values: object) -> str:
    """A whole page. One that draws charts carries Bokeh's script, about a megabyte."""
    bokeh = Markup(_bokeh_script()) if draws else Markup()
    return _environment().get_template(template).render(title=title, bokeh=bokeh, **values)


def embedded(plots: Mapping[str, Model]) -> tuple[Markup, dict[str, Markup]]:
    """The script that draws the plots, and the elements that it draws into, by the same keys."""
    if not plots:
        return Markup(), {}
    script, elements = components(dict(plots))
    return Markup(script), {key: Markup(element) for key, element in elements.items()}


def script_json(value: object) -> Markup:
    """JSON as the content of a script element, which only a `<` could end.

    >>> print(script_json({"name": "</script>"}))
    {"name":"\\u003c/script>"}
    """
    return Markup(json.dumps(value, separators=(",", ":")).replace("<", "\\u003c"))


def tooltip(macro: str, **values: object) -> str:
    """One of the macros in `tooltips.html`, as a template for Bokeh."""
    tooltips = _environment().get_template("tooltips.html").module
    return str(getattr(tooltips, macro)(**values))


def bokeh_text(text: str) -> Markup:
    """Text from data inside a template of Bokeh: neither HTML nor a reference to a column.

    >>> print(bokeh_text("<b>@time{x}$y"))
    &lt;b&gt;&#64;time&#123;x}&#36;y
    """
    return Markup(str(escape(text)).replace("@", "&#64;").replace("$", "&#36;").replace("{", "&#123;"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tidegate.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(stylesheet=_stylesheet, marks=MARKS, ink=INK, oracle_note=ORACLE_NOTE)
    environment.filters.update(clock=clock, exact=exact, seconds=seconds, share=share, bokeh_text=bokeh_text)
    environment.filters.update(iso=iso, utc=utc, length_of_time=length_of_time)
    return environment


def _stylesheet(name: str) -> Markup:
    return Markup(files("tidegate.report").joinpath(name).read_text(encoding="utf-8"))


@cache
def _bokeh_script() -> str:
    return str(Resources(mode="inline", components=["bokeh"]).render_js())
