"""Files of users: plain values or one sentence, whatever is in them."""

from pathlib import Path

import pytest

from tidegate.core import InvalidInput
from tidegate.core.checked_fields import CheckedFields
from tidegate.core.reading import DEEPEST, checked, parse_json, parse_toml, read_text, shown

DEEP = "x: need at most 64 levels of lists and objects, it has more"


def refusal(call: object, *arguments: object) -> str:
    with pytest.raises(InvalidInput) as caught:
        call(*arguments)  # type: ignore[operator]
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[" * 100_000, DEEP),
        ('{"a":' * 100_000, DEEP),
        ("[" * (DEEPEST + 2) + "]" * (DEEPEST + 2), DEEP),
        ("{", "x: no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ('{"a": NaN}', "x: need numbers between -2^63 and 2^63, a is nan"),
        ('{"a": [1, -Infinity]}', "x: need numbers between -2^63 and 2^63, 1 is -inf"),
        ('{"a": 1e999}', "x: need numbers between -2^63 and 2^63, a is inf"),
        ("9223372036854775808", "x: need numbers between -2^63 and 2^63, it is 9223372036854775808"),
    ],
)
def test_json_that_is_refused(text: str, sentence: str) -> None:
    assert refusal(parse_json, text, "x") == sentence


def test_an_integer_of_thousands_of_digits_is_no_json() -> None:
    assert refusal(parse_json, "9" * 5000, "x").startswith("x: no JSON: Exceeds the limit")


def test_json_that_is_read() -> None:
    assert parse_json('{"a": [1, 2.5, null, true, "x"]}', "x") == {"a": [1, 2.5, None, True, "x"]}
    deepest = "[" * DEEPEST + "]" * DEEPEST
    assert parse_json(deepest, "x") is not None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = " + "[" * 50_000, DEEP),
        ("a = " + "{b=" * 50_000, DEEP),
        (".".join("a" * 50_000) + " = 1", DEEP),  # tomllib alone takes minutes
        ("[" + ".".join("a" * 300) + "]", DEEP),
        ("x = {" + ".".join("a" * 300) + " = 1}", DEEP),
        (".".join("a" * 100) + " = 1", DEEP),
        ("a = nan", "x: need numbers between -2^63 and 2^63, a is nan"),
        ("a = 0x" + "f" * 5000, "x: need numbers between -2^63 and 2^63, a is an int of 20,000 bits"),
        ("a = ", "x is no TOML: Invalid value (at end of document)"),
    ],
)
def test_toml_that_is_refused(text: str, sentence: str) -> None:
    assert refusal(parse_toml, text, "x") == sentence


def test_many_numbers_and_long_prose_in_toml_are_no_keys() -> None:
    numbers = ", ".join(["0.5"] * 1000)
    prose = "One sentence. " * 200
    assert len(parse_toml(f'a = [{numbers}]\nb = "{prose}"', "x")["a"]) == 1000


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert refusal(read_text, path, "model a: cannot be read") == "model a: cannot be read: No such file or directory"
    assert refusal(read_text, tmp_path, "a").startswith("a: Is a directory")
    assert "null" in refusal(read_text, "a\x00b", "a")
    path.write_bytes(b"\xff\xfe")
    assert refusal(read_text, path, "a") == "a: it is not text in UTF-8"
    path.write_bytes(b"\xef\xbb\xbf12345")
    assert read_text(path, "a") == "12345"
    assert refusal(read_text, path, "a", 7) == "a: need at most 7 bytes, it has more"
    assert read_text(path, "a", 8) == "12345"


def test_what_is_checked_is_passed_on() -> None:
    values = {"a": [{"b": (1, 2)}]}
    assert checked(values, "x") is values


def test_values_in_sentences_are_short() -> None:
    assert len(shown("x" * 10_000)) < 50
    assert len(shown([["x" * 50] * 50] * 50)) < 1000
    assert shown({"a": 1}) == "{'a': 1}"


def test_fields_are_checked_with_their_names() -> None:
    fields = CheckedFields.of("x", {"n": 2, "f": 2.5, "t": "a", "l": [1, 2], "o": {}, "b": True}, list("nftlob"))
    assert (fields.number("f", 0, 3), fields.whole("n", 1, 2), fields.text("t")) == (2.5, 2, "a")
    assert (fields.items("l", 2), fields.table("o"), fields.table("none")) == ([1, 2], {}, None)
    assert refusal(fields.number, "n", 0, 1) == "x: need 0 <= n <= 1, got 2"
    assert refusal(fields.number, "b", 0, 1) == "x: need a number as b, got True"
    assert refusal(fields.number, "gone", 0, 1) == "x: gone is missing"
    assert refusal(fields.whole, "f", 0, 3) == "x: need a whole number as f, got 2.5"
    assert refusal(fields.text, "n") == "x: need text of up to 1000 characters as n, got 2"
    assert refusal(fields.items, "l", 1) == "x: need a list of up to 1 values as l, got [1, 2]"
    assert refusal(fields.table, "n") == "x: need an object as n, got 2"
    assert refusal(CheckedFields.of, "x", [1], ["a"]) == "x: need an object, got [1]"
    assert refusal(CheckedFields.of, "x", {"aa": 1}, ["ab"]).startswith("no key (x) is named 'aa'; did you mean 'ab'?")
