"""The plan of the house, enforced: who may import whom, how long things are, what nothing is called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import gossamer

SOURCE = Path(gossamer.__file__).parent
TESTS = Path(__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

# A room imports only rooms to its left, and itself.
ROOMS = [
    "core",
    "data",
    "metrics",
    "persistence",
    "datasets",
    "training",
    "networks",
    "models",
    "runner",
    "report",
    "serving",
    "cli",
]
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "base", "manager"}
FORBIDDEN_IMPORTS = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
MAX_LINES, MAX_CLI_LINES, MAX_FUNCTION_LINES = 400, 80, 60

# Modules of these names need no test of their own, and why.
WITHOUT_OWN_TEST = {
    "__init__": "re-exports only",
    "__main__": "one call of main, run by tests/cli/test_app.py",
    "errors": "exception classes without behaviour, raised and matched in the tests of their room",
    "kernels": "compiled loops, tested through the functions that call them; so are all *_kernels",
    "version": "one constant, shown by `gossamer version`",
}
# Modules that are tested together, and where.
TESTED_TOGETHER = {
    "models/embeddings/text/text_model.py": "models/embeddings/text/test_text_classifier.py",
    "models/embeddings/exchange.py": "models/embeddings/test_embeddings_sharded.py",
    "data/arrays.py": "data/test_containers.py",
    "data/counts.py": "data/test_containers.py",
    "data/sentences.py": "data/test_containers.py",
    "data/sequences.py": "data/test_containers.py",
    "data/content.py": "data/test_containers.py",
    "data/compressed.py": "data/test_interactions.py",
    "testing/array_contracts.py": "test_contracts.py",
    "testing/contracts.py": "test_contracts.py",
    "testing/oracles.py": "test_contracts.py",
    "testing/pair_contracts.py": "test_contracts.py",
    "testing/right_answers.py": "test_contracts.py",
    "testing/sequence_contracts.py": "test_contracts.py",
}


def names(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def for_each(paths: Iterable[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Make one test of a rule for one module: thousands of tests would cost minutes more than what they look at."""

    def make(rule: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            broken = []
            for path in paths:
                try:
                    rule(path)
                except AssertionError as error:
                    broken.append(f"{names(path)}: {error}")
            assert not broken, "\n".join(broken)

        return test

    return make


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def room_of(path: Path) -> str | None:
    """Return the room a module lies in; None for the package's own doorstep."""
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else None


def imported_modules(path: Path) -> Iterator[str]:
    """Yield the dotted names a module imports, at the top or inside functions; annotations-only imports count too."""
    package = ["gossamer", *path.relative_to(SOURCE).parent.parts]
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            prefix = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*prefix, *([node.module] if node.module else [])])
            yield module
            # `from gossamer import data` and `from gossamer.models import linear` name modules, too.
            yield from (f"{module}.{alias.name}" for alias in node.names)


def own_imports(path: Path) -> set[tuple[str, ...]]:
    return {tuple(name.split(".")[1:]) for name in imported_modules(path) if name.startswith("gossamer.")}


@for_each(MODULES)
def test_a_room_imports_only_rooms_above_it(path: Path) -> None:
    room = room_of(path)
    if room is None or room == "testing":
        return
    assert room in ROOMS, f"{room} is not a room of the plan"
    allowed = {*ROOMS[: ROOMS.index(room) + 1], "version"}
    below = {".".join(target) for target in own_imports(path) if target[0] in ROOMS and target[0] not in allowed}
    assert not below, f"{names(path)} imports {sorted(below)}, which lie below {room}"


@for_each(MODULES)
def test_no_room_imports_testing(path: Path) -> None:
    if room_of(path) != "testing":
        assert not [target for target in own_imports(path) if target[0] == "testing"]


@for_each(sorted((SOURCE / "models").rglob("*.py")))
def test_families_are_strangers_to_each_other(path: Path) -> None:
    families = {folder.name for folder in (SOURCE / "models").iterdir() if (folder / "__init__.py").is_file()}
    parts = path.relative_to(SOURCE / "models").parts
    own = parts[0] if len(parts) > 1 else None
    imported = {target[1] for target in own_imports(path) if target[0] == "models" and len(target) > 1}
    assert not (imported & families) - {own}, f"{names(path)} knows another family"


@for_each(MODULES)
def test_no_pickle_and_no_torch_load(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported_modules(path)}
    assert not roots & FORBIDDEN_IMPORTS
    loads = [
        node.lineno
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute)
        and node.attr in ("load", "save")
        and isinstance(node.value, ast.Name)
        and node.value.id == "torch"
    ]
    assert not loads, f"torch.load and torch.save unpickle and pickle, in lines {loads}"


@for_each([path for path in MODULES if room_of(path) != "cli"])
def test_the_library_does_not_print(path: Path) -> None:
    prints = [
        node.lineno
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not prints, f"print in lines {prints}; use logging, or return the text"


@for_each(MODULES)
def test_modules_are_short_and_introduce_themselves(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    limit = MAX_CLI_LINES if room_of(path) == "cli" else MAX_LINES
    assert lines <= limit, f"{lines} lines, at most {limit}: split it by subject"
    assert ast.get_docstring(parse(path)), "the module has no docstring"


def stores_an_argument(statement: ast.stmt) -> bool:
    """Say whether it is `self.name = name`: of an estimator's settings there are two lines each, and no logic."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name("self"), attr=attribute)], value=ast.Name(name)):
            return attribute == name
    return False


@for_each(MODULES)
def test_functions_are_short(path: Path) -> None:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            described = ast.get_docstring(node) is not None
            body = node.body[1:] if described else node.body
            docstring_lines = (node.body[0].end_lineno or 0) - node.body[0].lineno + 1 if described else 0
            lines = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines
            if not (node.name == "__init__" and all(map(stores_an_argument, body))):
                assert not body or lines <= MAX_FUNCTION_LINES, f"{node.name} has {lines} lines"


@for_each(MODULES)
def test_nothing_is_named_after_nothing(path: Path) -> None:
    parts = [part.removesuffix(".py").strip("_") for part in path.relative_to(SOURCE).parts]
    assert not set(parts) & FORBIDDEN_NAMES


def has_own_test(path: Path) -> bool:
    return path.stem not in WITHOUT_OWN_TEST and not path.stem.endswith("_kernels")


@for_each(list(filter(has_own_test, MODULES)))
def test_tests_mirror_the_source(path: Path) -> None:
    together = TESTED_TOGETHER.get(path.relative_to(SOURCE).as_posix())
    if together is not None:
        assert (TESTS / together).is_file()
        return
    mirrored = TESTS / path.relative_to(SOURCE).parent / f"test_{path.stem.strip('_')}.py"
    # Basenames of tests are unique, so a family may carry its name: models/linear/test_linear_step.py.
    prefixed = mirrored.with_name(f"test_{path.parent.name}_{path.stem.strip('_')}.py")
    assert mirrored.is_file() or prefixed.is_file(), f"no {mirrored.relative_to(TESTS)}"


def test_basenames_of_tests_are_unique() -> None:
    seen: dict[str, Path] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        assert path.name not in seen, f"{path} and {seen[path.name]} cannot both be collected"
        seen[path.name] = path


def test_exceptions_to_the_rules_are_needed() -> None:
    present = {path.relative_to(SOURCE).as_posix() for path in MODULES}
    assert set(TESTED_TOGETHER) <= present
    assert set(WITHOUT_OWN_TEST) <= {path.stem for path in MODULES}


def test_the_rules_see_every_kind_of_import(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A rule that matches nothing is no rule."""
    monkeypatch.setattr(f"{__name__}.SOURCE", tmp_path)
    probe = tmp_path / "data" / "probe.py"
    probe.parent.mkdir()
    probe.write_text(
        "import gossamer.cli.app\n"
        "from gossamer import report\n"
        "from gossamer.models.linear import EASE\n"
        "from ..training import loop\n"
        "from . import vocabulary\n"
        "def late():\n    from gossamer.runner.run import run_row\n"
    )
    assert {target[0] for target in own_imports(probe)} == {"cli", "report", "models", "training", "data", "runner"}


def test_every_module_that_breaks_a_rule_is_named() -> None:
    @for_each([SOURCE / "core" / "checks.py", SOURCE / "version.py", SOURCE / "data" / "text.py"])
    def test(path: Path) -> None:
        assert path.parent == SOURCE, "not at the door"

    with pytest.raises(AssertionError) as caught:
        test()
    assert "core/checks.py: not at the door" in str(caught.value)
    assert "data/text.py: not at the door" in str(caught.value)
    assert "version.py" not in str(caught.value)
