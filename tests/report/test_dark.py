"""Both colour schemes are legible: WCAG's contrast, AA, of texts and of lines, computed from what the pages use."""

import re
from importlib.resources import files

import pytest

from tidegate.report.compare.page import COLOURS, ORACLE, SLO
from tidegate.report.looks import INK, LOOKS, MARKS, SOFT, TARGET
from tidegate.report.plan.charts import COLOURS as LAWS

STYLE = files("tidegate.report").joinpath("style.css").read_text(encoding="utf-8")
DARK = re.search(r"@media screen and \(prefers-color-scheme: dark\) \{(.*?)\n\}", STYLE, flags=re.DOTALL)
Colour = tuple[float, float, float]


def variables(text: str) -> dict[str, str]:
    found = re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", text)
    return {
        name: value if len(value) == 7 else "#" + "".join(2 * digit for digit in value[1:]) for name, value in found
    }


LIGHT = variables(STYLE.split("@media", maxsplit=1)[0])
NIGHT = {**LIGHT, **variables(DARK.group(1) if DARK else "")}


def rgb(text: str) -> Colour:
    red, green, blue = (int(text[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def contrast(a: Colour, b: Colour) -> float:
    """As WCAG 2 defines it."""

    def luminance(colour: Colour) -> float:
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def turned(colour: Colour, amount: float) -> Colour:
    """`invert(amount) hue-rotate(180deg)`, with the matrix of the filter's specification."""
    red, green, blue = (c * (1 - amount) + (1 - c) * amount for c in colour)
    rows = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))
    first, second, third = (min(1.0, max(0.0, a * red + b * green + c * blue)) for a, b, c in rows)
    return first, second, third


def test_the_contrast_of_black_on_white_and_of_a_known_grey() -> None:
    assert contrast((0, 0, 0), (1, 1, 1)) == 21
    assert contrast(rgb("#767676"), (1, 1, 1)) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", [LIGHT, NIGHT], ids=["light", "dark"])
def test_texts_have_a_contrast_of_4_5(scheme: dict[str, str]) -> None:
    on_paper = dict.fromkeys(("ink", "soft", "faint", "good", "bad", "warn", "up", "down"), "paper")
    pairs = [*on_paper.items(), ("ink", "wash"), ("soft", "line"), ("faint", "wash"), ("up", "wash")]
    pairs += [(name, f"{name}-wash") for name in ("good", "bad", "warn")] + [
        ("ink", f"{n}-wash") for n in ("bad", "warn")
    ]
    weak = [(a, b) for a, b in pairs if contrast(rgb(scheme[a]), rgb(scheme[b])) < 4.5]
    assert weak == []


def amount() -> float:
    found = re.search(r"\.plot, \.hue, \.bk-Tooltip \{ filter: invert\(([\d.]+)\) hue-rotate\(180deg\); \}", STYLE)
    assert found is not None
    return float(found.group(1))


LINES = {look.colour for look in (*LOOKS.values(), TARGET, ORACLE, SLO)} | {mark.colour for mark in MARKS.values()}


@pytest.mark.parametrize("colour", sorted(LINES | set(COLOURS) | set(LAWS)))
def test_lines_have_a_contrast_of_3_in_both_schemes(colour: str) -> None:
    assert contrast(rgb(colour), rgb(LIGHT["paper"])) >= 3
    assert contrast(turned(rgb(colour), amount()), rgb(NIGHT["paper"])) >= 3


@pytest.mark.parametrize("colour", [INK, SOFT])
def test_texts_in_charts_have_a_contrast_of_4_5_in_both_schemes(colour: str) -> None:
    assert contrast(rgb(colour), rgb(LIGHT["paper"])) >= 4.5
    assert contrast(turned(rgb(colour), amount()), rgb(NIGHT["paper"])) >= 4.5


def test_dark_is_for_screens_only_so_that_paper_stays_light() -> None:
    assert re.findall(r"@media[^{]*prefers-color-scheme[^{]*", STYLE) == [
        "@media screen and (prefers-color-scheme: dark) "
    ]


def test_a_dark_page_is_dark_before_its_style_is_read() -> None:
    base = files("tidegate.report").joinpath("templates/base.html").read_text(encoding="utf-8")
    assert base.index('<meta name="color-scheme" content="light dark">') < base.index("<style>")
