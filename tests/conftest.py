"""What every test shares: checked shapes, hypothesis profiles, and visible skips for what a machine lacks."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pkgutil
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jaxtyping
import pytest
from hypothesis import HealthCheck, settings

# Before torch and numba load OpenMP, which reads it once. Both keep their threads, but a thread that waits for another
# sleeps instead of spinning, which was about four fifths of the CPU time of small torch fits where all cores were busy.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

CHECKED_ROOMS = ("core", "metrics")
# numba cannot compile a wrapped function, and beartype cannot check `Self` outside a class it wrapped itself.
UNCHECKED_MODULES = ("kernels", "protocols", "randomness")


def modules_with_checked_shapes() -> list[str]:
    """Return the modules of the checked rooms, found without importing them."""
    package = importlib.util.find_spec("gossamer")
    assert package is not None
    assert package.submodule_search_locations is not None
    root = Path(package.submodule_search_locations[0])
    return [
        f"gossamer.{room}.{module.name}"
        for room in CHECKED_ROOMS
        for module in pkgutil.iter_modules([str(root / room)])
        if module.name not in UNCHECKED_MODULES
    ]


# Before any test imports these modules: jaxtyping rewrites them while they are imported. The tower is mypy's rule
# that an int may stand where a float is asked for.
jaxtyping.install_import_hook(
    modules_with_checked_shapes(), "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
)

# Machines are shared: speed is never what a property test asserts.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def missing_requirement(marker: str) -> str | None:
    """Return why tests with `marker` cannot run here, or None when they can."""
    if marker == "data":
        folder = os.environ.get("GOSSAMER_DATA", "")
        if not folder or not Path(folder).is_dir():
            return f"GOSSAMER_DATA must name a directory, got {folder!r}"
    if marker == "browser" and shutil.which("chromium") is None:
        return "no chromium on the PATH"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for marker in ("data", "browser"):
        reason = missing_requirement(marker)
        if reason is not None:
            for item in items:
                if item.get_closest_marker(marker):
                    item.add_marker(pytest.mark.skip(reason=reason))
    # The longest first: begun last, one of them would leave the other process idle for minutes.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture
def unchecked_shapes() -> Iterator[None]:
    """Switch the shape checks off, as they are for users, to reach the library's own ValueErrors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def _same_start_for_every_test() -> None:
    """Seed torch's global generator, which `nn` modules initialise from: a test must not depend on luck or order."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, also where the tests run in the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Return a folder that a function has filled: by the first of pytest's processes that asks, for all of them.

    A module's fixture is made by every process that runs one of its tests; two of them starting torchrun at once, with
    nothing compiled yet, took longer than a test may.
    """
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root

    def make(name: str, fill: Callable[[Path], None]) -> Path:
        folder = root / name
        with open(root / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "is-made").exists():
                folder.mkdir(exist_ok=True)
                fill(folder)
                (folder / "is-made").touch()
        return folder

    return make
