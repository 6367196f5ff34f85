"""Column names, including nested ones: `a.b` is the field `b` of `a`, unless a column is itself named `a.b`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql.types import DataType, StringType, StructField, StructType

from tidegate.core import InvalidInput, UnknownName
from tidegate.core.reading import DEEPEST, shown

Path = tuple[str, ...]


def resolve(name: str, available: Iterable[Path], place: str) -> Path:
    """The path of a column. The error for an unknown name lists the columns of `place`.

    >>> resolve("user.id", [("user",), ("user", "id")], "a.json")
    ('user', 'id')
    >>> resolve("tiem", [("time",), ("user",)], "a.csv")
    Traceback (most recent call last):
    tidegate.core.errors.UnknownName: no column of a.csv is named 'tiem'; did you mean 'time'? (known: time, user)
    """
    paths = {".".join(path): path for path in sorted(available, key=len, reverse=True)}
    if name not in paths:
        raise UnknownName(f"column of {place}", name, paths)
    return paths[name]


def of_header(line: str, separator: str, header: bool) -> list[Path]:
    """The columns of a CSV file from its first line. Without a header they are numbered, as Spark does.

    >>> of_header('at,"a,b"', ",", True), of_header("1,2", ",", False)
    ([('at',), ('a,b',)], [('_c0',), ('_c1',)])
    """
    try:
        cells = next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        raise InvalidInput(f"the first line {shown(line)} is no CSV: {error}") from None
    return [(cell.strip(),) if header else (f"_c{number}",) for number, cell in enumerate(cells)]


def of_lines(lines: Iterable[str]) -> set[Path]:
    """The fields, including nested ones, of all objects in lines of JSON.

    >>> sorted(of_lines(['{"a": {"b": 1}}', '{"c": [', "7"]))
    [('a',), ('a', 'b')]
    """
    return {path for line in lines for path in _fields(_json_value(line))}


def _json_value(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _fields(value: Any, parent: Path = ()) -> Iterator[Path]:
    for name, inner in value.items() if isinstance(value, Mapping) and len(parent) < DEEPEST else ():
        yield (*parent, name)
        yield from _fields(inner, (*parent, name))


def of_schema(schema: StructType, parent: Path = ()) -> Iterator[Path]:
    for field in schema.fields:
        yield (*parent, field.name)
        if isinstance(field.dataType, StructType):
            yield from of_schema(field.dataType, (*parent, field.name))


def schema_of(paths: Iterable[Path]) -> StructType:
    """A schema with only these fields, all of them strings.

    >>> schema_of([("a", "b"), ("a", "c"), ("d",)]).simpleString()
    'struct<a:struct<b:string,c:string>,d:string>'
    """
    tree: dict[str, Any] = {}
    for path in sorted(set(paths)):
        inner = tree
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
            if inner is None:
                raise InvalidInput(f"column {'.'.join(path)} is nested in another column that is also selected")
        inner[path[-1]] = None
    return _struct(tree)


def _struct(tree: Mapping[str, Any]) -> StructType:
    types: dict[str, DataType] = {
        name: StringType() if inner is None else _struct(inner) for name, inner in tree.items()
    }
    return StructType([StructField(name, column_type) for name, column_type in types.items()])
