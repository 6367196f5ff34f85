import re

from tidegate.report.workloads import Sketch, render
from tidegate.workloads import NAMED, Steps, named


def test_the_page_of_all_is_complete_and_fetches_nothing() -> None:
    document = render([Sketch(name, one.summary, one.source, named(name)) for name, one in NAMED.items()])
    own = re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)
    assert document.startswith("<!DOCTYPE html>")
    assert re.findall(r"<b>(.*?)</b>", own) == list(NAMED)
    assert document.count("data-root-id") == len(NAMED)
    assert not re.search(r"(src|href)\s*=|<link|@import|url\(", own)
    assert not re.search(r"<script[^>]*\ssrc", document)
    assert "Content-Security-Policy\" content=\"default-src 'none';" in document


def test_what_comes_from_a_file_s_name_is_escaped() -> None:
    evil = "trace:</script><script>alert(1)</script>.csv"
    document = render([Sketch(evil, "recorded", evil, Steps(10, levels=(1, 2)))])
    assert "<script>alert" not in document
    # ten seconds, 1.5 on average
    assert ".csv · 0:10, 1.5/s on average, peak 2/s</small>" in document
