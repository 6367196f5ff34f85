import re

from bokeh.models import HoverTool
from bokeh.models.glyphs import Line

from tidegate.report.workloads import Sketch, _plot, render
from tidegate.workloads import NAMED, Steps, named


def test_the_page_of_all_is_complete_and_fetches_nothing() -> None:
    document = render([Sketch(name, pattern.summary, pattern.source, named(name)) for name, pattern in NAMED.items()])
    own = re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)
    assert document.startswith("<!DOCTYPE html>")
    assert re.findall(r"<b>(.*?)</b>", own) == list(NAMED)
    assert document.count("data-root-id") == len(NAMED)
    assert not re.search(r"(src|href)\s*=|<link|@import|url\(", own)
    assert not re.search(r"<script[^>]*\ssrc", document)
    assert "Content-Security-Policy\" content=\"default-src 'none';" in document


def test_what_comes_from_a_file_is_escaped() -> None:
    evil = "</script><script>alert(1)</script>"
    document = render([Sketch(f"trace:{evil}", f"summary {evil}", f"{evil}.csv", Steps(10, levels=(1, 2)))])
    assert "<script>alert" not in document
    assert document.count("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;") == 3
    # ten seconds, 1.5 on average
    assert ".csv · 0:10, 1.5/s on average, peak 2/s</small>" in document


def test_the_tooltip_is_on_a_line_because_bokeh_cannot_hit_steps() -> None:
    plot = _plot(Steps(10, levels=(1, 2)), alone=True)
    (tool,) = plot.select(HoverTool)
    (anchor,) = tool.renderers
    assert isinstance(anchor.glyph, Line)
