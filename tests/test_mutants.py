"""The tool for mutation testing: which mutants there are, which are chosen, and which tests they meet."""

import importlib
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

TOOL = Path(__file__).parents[1] / "scripts" / "mutants"


@pytest.fixture(scope="module")
def tool() -> Iterator[SimpleNamespace]:
    """Its modules, which are no package."""
    names = ("mutant", "sample", "copies", "baseline")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TOOL)
        loaded: dict[str, ModuleType] = {name: importlib.import_module(name) for name in names}
        yield SimpleNamespace(**loaded)
    for name in names:
        sys.modules.pop(name, None)


def changes(tool: SimpleNamespace, source: str) -> list[str]:
    return [f"{mutant.operator}: {mutant.after}" for mutant in tool.mutant.mutants(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b <= c", ["compare: x = a <= b <= c", "compare: x = a < b < c"]),
        ("x = a == b", ["compare: x = a != b"]),
        ("x = a and b", ["and/or: x = a or b", "drop operand: x = b", "drop operand: x = a"]),
        (
            "x = a or b or c",
            [
                "and/or: x = a and b and c",
                "drop operand: x = b or c",
                "drop operand: x = a or c",
                "drop operand: x = a or b",
            ],
        ),
        ("x = not a", ["drop not: x = a"]),
        ("x = a - b", ["arithmetic: x = a + b"]),
        ("x = a * b", ["arithmetic: x = a / b", "drop factor: x = a", "drop factor: x = b"]),
        ("x = a / b", ["arithmetic: x = a * b", "drop factor: x = a"]),
        ("x += a", ["arithmetic: x -= a"]),
        ("x = [0, 2.5]", ["constant: x = [1, 2.5]", "constant: x = [0, 3.5]"]),
        ("x = 500", ["constant: x = 1000"]),  # one more would hardly matter
        ("x = max(0, a)", ["min/max: x = min(0, a)", "drop bound: x = a", "constant: x = max(1, a)"]),
        ("x = min(a, b)", ["min/max: x = max(a, b)", "drop bound: x = a", "drop bound: x = b"]),
        ("a.clear()", ["drop call: pass"]),
        # parentheses where they are needed only
        (
            "x = (a + b) * c",
            [
                "arithmetic: x = (a + b) / c",
                "drop factor: x = a + b",
                "drop factor: x = c",
                "arithmetic: x = (a - b) * c",
            ],
        ),
        (
            "x = -max(a + b, 1)",
            [
                "min/max: x = -min(a + b, 1)",
                "drop bound: x = -(a + b)",
                "arithmetic: x = -max(a - b, 1)",
                "constant: x = -max(a + b, 2)",
            ],
        ),
    ],
)
def test_each_operator(tool: SimpleNamespace, source: str, expected: list[str]) -> None:
    assert changes(tool, source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Costs 3 * 4."""',
        "x = True",
        "x: Literal[3] = y",
        "raise ValueError(3 + 4)",
        'log.warning("%s", 3 + 4)',
        'x = f"{3 + 4}"',
        "@cache(3)\ndef f(): return x",
        "def __repr__(self): return 3 * 4",
        "class P(Protocol):\n    x = 3",
        "x = a is None",
    ],
)
def test_what_is_not_mutated(tool: SimpleNamespace, source: str) -> None:
    assert changes(tool, source) == []


def test_a_function_that_may_return_nothing_returns_early(tool: SimpleNamespace) -> None:
    source = 'def f() -> int | None:\n    """Text."""\n    x = a\n    return x\n'
    (mutant,) = tool.mutant.mutants(source)
    assert (mutant.line, mutant.before, mutant.after) == (3, "x = a", "return ⏎ x = a")
    assert mutant.source == 'def f() -> int | None:\n    """Text."""\n    return\n    x = a\n    return x\n'


def test_places_are_counted_in_characters_and_functions_by_their_first_decorator(tool: SimpleNamespace) -> None:
    source = '@property\ndef f(self):\n    return "★", 1\n'
    (edit,) = tool.mutant.edits(source)
    assert (edit.mutant(source).after, edit.function) == ('return "★", 2', 1)
    assert tool.mutant.edits("x = 1")[0].function is None


FILE = """\
def f(a, b):
    x = a + b
    y = a * b
    return x < y
"""


def package(root: Path, source: str, ignored: str = "ignored = []") -> tuple[Path, Path]:
    (root / "room").mkdir(exist_ok=True)
    (root / "room" / "file.py").write_text(source)
    (root / "ignored.toml").write_text(ignored)
    return root, root / "ignored.toml"


def chosen(tool: SimpleNamespace, root: Path, ignored: Path, seed: int = 1, count: int = 9) -> list[str]:
    return [one.mutant.after for one in tool.sample.choose(root, ["room"], seed, count, ignored)]


def test_the_sample_has_one_mutant_of_a_line_and_is_the_same_for_a_seed(tool: SimpleNamespace, tmp_path: Path) -> None:
    root, ignored = package(tmp_path, FILE)
    sample = chosen(tool, root, ignored)
    assert len(sample) == 3
    assert {"x = a - b", "return x <= y"} < set(sample)
    assert chosen(tool, root, ignored) == sample
    assert chosen(tool, root, ignored, count=2) == sample[:2]
    assert len({tuple(chosen(tool, root, ignored, seed)) for seed in range(20)}) > 5


def test_an_edit_elsewhere_leaves_the_sample_as_it_is(tool: SimpleNamespace, tmp_path: Path) -> None:
    sample = chosen(tool, *package(tmp_path, FILE))
    assert chosen(tool, *package(tmp_path, f"import this\n\n\n{FILE}")) == sample


def test_ignored_changes_are_replaced_by_the_next(tool: SimpleNamespace, tmp_path: Path) -> None:
    first, *rest = chosen(tool, *package(tmp_path, FILE))
    (before,) = [one.mutant.before for one in tool.sample.choose(tmp_path, ["room"], 1, 1, tmp_path / "ignored.toml")]
    entry = f'ignored = [{{file = "room/file.py", before = "{before}", after = "{first}", why = "equivalent"}}]'
    assert chosen(tool, *package(tmp_path, FILE, entry)) == rest


def test_a_mutant_meets_the_files_that_call_its_function_namesakes_first(tool: SimpleNamespace) -> None:
    def test_file(seconds: float, *calls: tuple[str, int], failed: tuple[str, ...] = ()) -> object:
        return tool.baseline.TestFile(frozenset(calls), seconds, failed)

    baseline = tool.baseline.Baseline(
        {
            "tests/slow.py": test_file(50, ("hpa.py", 10)),
            "tests/quick.py": test_file(1, ("hpa.py", 10), ("hpa.py", 20)),
            "tests/test_hpa.py": test_file(3, ("hpa.py", 10), failed=("tests/test_hpa.py::test_x",)),
            "tests/other.py": test_file(0, ("dra.py", 10)),
            "tests/endless.py": test_file(999, ("hpa.py", 10)),
        }
    )
    assert baseline.tests("hpa.py", 10) == ["tests/test_hpa.py", "tests/quick.py", "tests/slow.py"]
    assert baseline.tests("hpa.py", 20) == ["tests/quick.py"]
    # a constant outside of functions: all that call anything in the file
    assert baseline.tests("hpa.py", None) == ["tests/test_hpa.py", "tests/quick.py", "tests/slow.py"]
    assert baseline.tests("hpa.py", 30) == []
    # a file of values only, in which nothing is called: the tests of its room
    assert baseline.tests("quick/values.py", None) == ["tests/quick.py"]
    assert baseline.seconds(["tests/quick.py", "tests/slow.py"]) == 51
    assert baseline.failed == ["tests/test_hpa.py::test_x"]


def test_every_ignored_change_says_why(tool: SimpleNamespace) -> None:

    for entry in tomllib.loads((TOOL / "ignored.toml").read_text())["ignored"]:
        assert set(entry) == {"file", "before", "after", "why"}
        assert len(entry["why"].split()) > 3
