import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: [text](target) and ![text](target "title"), and HTML's
LINKS = re.compile(r"""\]\(\s*<?([^)\s>]+)|\b(?:src|href)\s*=\s*["']([^"']+)""")


PACKAGES = [
    "",
    ".capacity",
    ".control",
    ".core",
    ".deployment",
    ".experiment",
    ".policies",
    ".policies.guards",
    ".report",
    ".runner",
    ".runs",
    ".score",
]


@pytest.mark.parametrize("name", [f"tidegate{name}" for name in PACKAGES])
def test_what_a_package_offers_is_sorted_and_there(name: str) -> None:
    package = import_module(name)
    assert list(package.__all__) == sorted(set(package.__all__))
    assert [offered for offered in package.__all__ if not hasattr(package, offered)] == []


def test_what_a_package_does_not_offer_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tidegate' has no attribute 'detach'"):
        _ = import_module("tidegate").detach


def targets(text: str) -> list[str]:
    """Relative links and images of a Markdown text, code left out."""
    prose = re.sub(r"^(```|~~~).*?^\1|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    found = [a or b for a, b in LINKS.findall(prose)]
    return [target.split("#")[0] for target in found if not re.match(r"[a-z][a-z0-9+.-]*:|//|#", target)]


def test_only_relative_links_outside_code_are_followed() -> None:
    text = "[a](b.md#c) ![d](e.png 'f') [g](https://h.i) [j](#k) <img src='l.svg'> `[m](n)`\n```\n[o](p)\n```\n"
    assert targets(text) == ["b.md", "e.png", "l.svg"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_images_lead_somewhere(page: Path) -> None:
    if not page.exists():
        pytest.skip(f"there is no {page.name} yet")
    assert [target for target in targets(page.read_text()) if not (page.parent / target).exists()] == []
