"""Compiled loops whose sums may be reordered give the same bits wherever their arrays lie in memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer

SOURCE = Path(gossamer.__file__).parent


def reordering_functions(text: str) -> Iterator[ast.FunctionDef]:
    """Yield the functions that numba compiles with `fastmath`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            decorators = [decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
            if any(keyword.arg == "fastmath" for decorator in decorators for keyword in decorator.keywords):
                yield node


def sums_beside_writes(function: ast.FunctionDef) -> list[str]:
    """Return the innermost loops that add to a number and write to an array.

    The compiler keeps two versions of such a loop, with its additions in different order, and asks at run time whether
    the arrays may overlap. Bounds of that question are wider than arrays are: neighbours on the heap may seem to.
    """
    found = []
    for loop in (node for node in ast.walk(function) if isinstance(node, ast.For)):
        inside = [node for statement in loop.body for node in ast.walk(statement)]
        if not any(isinstance(node, ast.For | ast.While) for node in inside):
            adds = any(
                isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add)
                for node in inside
            )
            if adds and any(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) for node in inside):
                found.append(ast.unparse(loop))
    return found


KERNELS = sorted(path for path in SOURCE.rglob("*.py") if "fastmath" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_sum_depends_on_nothing_but_its_numbers(path: Path):
    functions = list(reordering_functions(path.read_text(encoding="utf-8")))
    assert functions
    for function in functions:
        assert sums_beside_writes(function) == []


def test_a_sum_beside_a_write_is_found():
    text = """
@numba.njit(fastmath=FAST)
def _sum(values, total, out):
    for row in range(2):
        for place in range(3):
            total += values[place]
            out[place] += total
"""
    (function,) = reordering_functions(text)
    assert sums_beside_writes(function) == [
        "for place in range(3):\n    total += values[place]\n    out[place] += total"
    ]
