"""One-line mutants of a Python source: small changes of the kind that programmers make by mistake. Pure.

>>> for mutant in mutants("def late(wait, slo):\\n    return wait > 2 * slo\\n"):
...     print(f"{mutant.operator:11} {mutant.after}")
compare     return wait >= 2 * slo
arithmetic  return wait > 2 / slo
drop factor return wait > 2
drop factor return wait > slo
constant    return wait > 3 * slo

Not mutated: docstrings, type hints, decorators, imports, the texts of errors and logs, `__repr__`, and protocols.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

FLIPS: dict[type[ast.AST], type[ast.AST]] = {}
for one, other in (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.And, ast.Or),
):
    FLIPS |= {one: other, other: one}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file as mutated. `before` and `after` are the line, without its indentation."""

    operator: str
    line: int
    before: str
    after: str
    source: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A mutant that is not made yet: `text` in the place of a node, or `inserted` before it."""

    operator: str
    node: ast.expr | ast.stmt
    text: str
    inserted: bool = False
    #: first line of the innermost function around it
    function: int | None = None

    def mutant(self, source: str) -> Mutant:
        changed, line = self._changed(source), self.node.lineno
        before, after = source.splitlines(), changed.splitlines()
        shown = after[line - 1 : line + self.inserted]
        return Mutant(self.operator, line, before[line - 1].strip(), " ⏎ ".join(map(str.strip, shown)), changed)

    def _changed(self, source: str) -> str:
        """With parentheses only where they matter."""
        lines = source.encode().splitlines(keepends=True)
        begin = sum(map(len, lines[: self.node.lineno - 1])) + self.node.col_offset
        end = sum(map(len, lines[: (self.node.end_lineno or 0) - 1])) + (self.node.end_col_offset or 0)
        head, tail = source.encode()[:begin].decode(), source.encode()[begin if self.inserted else end :].decode()
        bare, safe = f"{head}{self.text}{tail}", f"{head}({self.text}){tail}"
        same = isinstance(self.node, ast.stmt) or ast.dump(ast.parse(bare)) == ast.dump(ast.parse(safe))
        return bare if same else safe


def mutants(source: str) -> list[Mutant]:
    """All of them, in the order of their lines."""
    return [edit.mutant(source) for edit in edits(source)]


def edits(source: str) -> list[Edit]:
    found = []
    for node, function in _places(ast.parse(source), None):
        first = None if function is None else min([function.lineno, *(one.lineno for one in function.decorator_list)])
        found += [replace(edit, function=first) for edit in _edits(node)]
    return sorted(found, key=lambda edit: edit.node.lineno)


def _places(node: ast.AST, function: ast.FunctionDef | None) -> Iterator[tuple[ast.AST, ast.FunctionDef | None]]:
    """Every node that may be mutated, with the function it is in."""
    if isinstance(node, ast.FunctionDef):
        function = node
    yield node, function
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "bases"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _spared(child):
                yield from _places(child, function)


def _spared(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.Expr(ast.Constant()) | ast.FunctionDef(name="__repr__" | "__str__"):
            return True
        case ast.Expr(ast.Call(ast.Attribute(ast.Name("log")))) | ast.ClassDef(bases=[*_, ast.Name("Protocol")]):
            return True
    return False


def _edits(node: ast.AST) -> Iterator[Edit]:
    yield from _logic(node)
    yield from _arithmetic(node)
    yield from _statements(node)


def _logic(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Compare(left, ops, comparators):
            for at, op in enumerate(ops):
                if type(op) in FLIPS:
                    flipped: list[ast.cmpop] = [*ops[:at], _flip(op), *ops[at + 1 :]]
                    yield _edit("compare", node, ast.Compare(left, flipped, comparators))
        case ast.BoolOp(op, values):
            yield _edit("and/or", node, ast.BoolOp(_flip(op), values))
            for value in values:
                rest = [kept for kept in values if kept is not value]
                yield _edit("drop operand", node, ast.BoolOp(op, rest) if len(rest) > 1 else rest[0])
        case ast.UnaryOp(ast.Not(), operand):
            yield _edit("drop not", node, operand)


def _arithmetic(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right):
            yield _edit("arithmetic", node, ast.BinOp(left, _flip(op), right))
            if isinstance(op, ast.Mult | ast.Div):
                yield _edit("drop factor", node, left)
            if isinstance(op, ast.Mult):
                yield _edit("drop factor", node, right)
        case ast.AugAssign(target, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, value):
            yield _edit("arithmetic", node, ast.AugAssign(target, _flip(op), value))
        case ast.Constant(int() | float() as number) if not isinstance(number, bool):
            yield Edit("constant", node, repr(number + 1 if number < 10 else number * 2))
        case ast.Call(ast.Name("min" | "max" as name), args, keywords):
            yield _edit("min/max", node, ast.Call(ast.Name({"min": "max", "max": "min"}[name]), args, keywords))
            for arg in args if len(args) == 2 else ():
                if not isinstance(arg, ast.Constant | ast.Starred):
                    yield _edit("drop bound", node, arg)


def _statements(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Expr(ast.Call()):
            yield Edit("drop call", node, "pass")
        case ast.FunctionDef(returns=ast.Constant(None) | ast.BinOp(right=ast.Constant(None))):
            yield from _returns_early(node.body)


def _returns_early(body: list[ast.stmt]) -> Iterator[Edit]:
    code = [statement for statement in body if not _spared(statement)]
    if code and not isinstance(code[0], ast.Return | ast.FunctionDef):
        yield Edit("return early", code[0], f"return\n{' ' * code[0].col_offset}", inserted=True)


def _edit(operator: str, node: ast.expr | ast.stmt, instead: ast.AST) -> Edit:
    return Edit(operator, node, ast.unparse(ast.fix_missing_locations(instead)))


def _flip(op: ast.AST) -> Any:
    return FLIPS[type(op)]()
