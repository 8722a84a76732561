"""Which names a Python source file uses and calls, found in its syntax tree; nothing is imported or executed.

A name is written as a reader of the code would say it:

- what an import leads to, by its full path: `os.path.join`, however the module was imported or renamed;
- what Python itself provides, bare: `len`, `ValueError`;
- what the module itself defines at its top, with the module in front: `textwrap.dedent`;
- a method of an object whose type the syntax does not tell, by its attribute: `.append`.

Local variables and parameters have no name that means anything elsewhere and are left out.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

# Tuples made once: `isinstance` against a union written in place builds it anew for each of five million nodes.
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda)
_IMPORTS = (ast.Import, ast.ImportFrom)
_REFERENCES = (ast.Name, ast.Attribute)
_LEAVES = (ast.expr_context, ast.operator, ast.Constant)
# What Python itself provides, without what `site`, an interactive shell or a translation adds at run time.
BUILTINS = frozenset(
    name
    for name, value in vars(builtins).items()
    if not name.startswith("_") and getattr(value, "__module__", None) in ("builtins", "io", "_io")
)


@dataclass
class ModuleNames:
    """What one module says: how often it uses each name, what each function calls, and its docstrings."""

    uses: Counter[str] = field(default_factory=Counter)
    calls: list[tuple[str, list[str]]] = field(default_factory=list)
    docstrings: dict[str, str] = field(default_factory=dict)


def read_names(source: bytes, module: str, *, is_package: bool = False) -> ModuleNames:
    """Parse one source file; `module` is its dotted name. A SyntaxError or ValueError is the caller's.

    >>> names = read_names(b"import os.path as p" + bytes([10]) + b"x = p.join('a', str(1)).upper()", "demo")
    >>> sorted(names.uses)
    ['.upper', 'os.path.join', 'str']
    """
    tree = ast.parse(source)
    reader = _Reader(module, _Bindings(tree, module, is_package=is_package), _top_level_names(tree))
    reader.read(tree)
    return reader.found


class _Bindings:
    """What names are bound to: imports of the whole file, and the parameters and variables of each function."""

    def __init__(self, tree: ast.Module, module: str, *, is_package: bool) -> None:
        self.imports: dict[str, str] = {}
        self.local: dict[ast.AST, set[str]] = {}
        self._package = module.split(".") if is_package else module.split(".")[:-1]
        # Every node of 1,700 files passes here: one explicit stack is three times as fast as `ast.walk` per scope.
        pending: list[tuple[ast.AST, set[str]]] = [(tree, set())]
        while pending:
            node, bound = pending.pop()
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Store):
                    bound.add(node.id)
                continue
            if isinstance(node, _IMPORTS):
                self._add_import(node)
                continue
            if isinstance(node, _SCOPES):
                bound = self.local[node] = _parameters(node.args)
            pending.extend((child, bound) for child in _children(node))

    def _add_import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                self.imports[alias.asname or first] = alias.name if alias.asname else first
            return
        above = self._package[: len(self._package) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        for alias in node.names:
            if alias.name != "*":
                self.imports[alias.asname or alias.name] = f"{base}.{alias.name}" if base else alias.name


def _parameters(arguments: ast.arguments) -> set[str]:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return {argument.arg for argument in named if argument is not None}


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for field_name in node._fields:
        value = getattr(node, field_name, None)
        if isinstance(value, list):
            found.extend(element for element in value if isinstance(element, ast.AST))
        elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
            found.append(value)
    return found


def _top_level_names(tree: ast.Module) -> frozenset[str]:
    """Return the functions and classes a module defines, also those inside its `if` and `try` blocks."""
    found = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.stmt | ast.ExceptHandler):
            pending.extend(_children(node))
    return frozenset(found)


class _Reader:
    """One walk over a module's tree, children before parents, so that inner calls come before outer ones."""

    def __init__(self, module: str, bindings: _Bindings, defined: frozenset[str]) -> None:
        self.module = module
        self.imports = bindings.imports
        self.local = bindings.local
        self.defined = defined
        self.hidden: list[set[str]] = []
        self.running: list[list[str]] = []
        self.path: list[str] = [module]
        self.found = ModuleNames()

    def read(self, tree: ast.Module) -> None:
        self._document(tree)
        self._visit_all(tree.body)

    def _visit_all(self, nodes: list[ast.stmt] | list[ast.expr]) -> None:
        for node in nodes:
            self._visit(node)

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, _FUNCTIONS):
            self._visit_function(node)
        elif isinstance(node, ast.ClassDef):
            self._visit_all(node.decorator_list)
            for child in [*node.bases, *node.keywords]:
                self._visit(child)
            self.path.append(node.name)
            self._document(node)
            self._visit_all(node.body)
            self.path.pop()
        elif isinstance(node, ast.Lambda):
            self.hidden.append(self.local[node])
            self._visit(node.body)
            self.hidden.pop()
        elif isinstance(node, ast.Call):
            self._visit_call(node)
        elif isinstance(node, _REFERENCES):
            self._visit_reference(node)
        else:
            for child in _children(node):
                self._visit(child)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_all(node.decorator_list)
        self._visit(node.args)
        self.path.append(node.name)
        self._document(node)
        self.hidden.append(self.local[node])
        self.running.append([])
        self._visit_all(node.body)
        self.found.calls.append((".".join(self.path), self.running.pop()))
        self.hidden.pop()
        self.path.pop()

    def _visit_call(self, node: ast.Call) -> None:
        name = self._name_of(node.func)
        if isinstance(node.func, ast.Attribute) and _root(node.func) is None:
            self._visit(_innermost(node.func))
        for child in [*node.args, *node.keywords]:
            self._visit(child)
        if name is None:
            if not isinstance(node.func, _REFERENCES):
                self._visit(node.func)
            return
        self.found.uses[name] += 1
        if self.running:
            self.running[-1].append(name)

    def _visit_reference(self, node: ast.Name | ast.Attribute) -> None:
        """Count an imported or built-in name that is passed, raised, caught or inherited rather than called."""
        root = _root(node)
        if root is None:
            self._visit(_innermost(node))
            return
        if isinstance(root.ctx, ast.Load):
            name = self._name_of(node)
            if name is not None and not name.startswith("."):
                self.found.uses[name] += 1

    def _name_of(self, node: ast.expr) -> str | None:
        root = _root(node)
        if root is None:
            return f".{node.attr}" if isinstance(node, ast.Attribute) else None
        attributes = list(_attributes(node))[::-1]
        hidden = any(root.id in names for names in self.hidden)
        if root.id in self.imports and not hidden:
            return ".".join([self.imports[root.id], *attributes])
        if root.id in self.defined and not hidden:
            return ".".join([self.module, root.id, *attributes])
        if root.id in BUILTINS and not hidden:
            return ".".join([root.id, *attributes])
        return f".{attributes[-1]}" if attributes else None

    def _document(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        text = ast.get_docstring(node)
        if text:
            self.found.docstrings.setdefault(".".join(self.path), text)


def _root(node: ast.expr) -> ast.Name | None:
    """Return the variable at the bottom of `a.b.c`, or None where the chain starts at a call or a literal."""
    bottom = _innermost(node)
    return bottom if isinstance(bottom, ast.Name) else None


def _innermost(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _attributes(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Attribute):
        yield node.attr
        node = node.value
