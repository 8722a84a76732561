"""Where and with what code a row ran: commit, hash of the code behind a row, machine, library versions, peak memory."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import gossamer

PACKAGE = Path(gossamer.__file__).parent

# Every room that can change a number. Families are strangers to each other, so of `models/` only the row's own
# family counts, and of `runner/` only what carries a row: a new column in a table does not make old numbers doubtful.
_SHARED_ROOMS = ("core", "data", "metrics", "datasets", "training", "networks")
_RUNNER_MODULES = ("estimators", "measure", "per_user", "run", "search", "source")
_LIBRARIES = ("numpy", "scipy", "torch", "polars", "numba")


def code_hash(family: str | None) -> str:
    """Return a SHA-256 of the source behind a row: the shared rooms and one family, or the peers' adapters for None."""
    files = [file for room in _SHARED_ROOMS for file in (PACKAGE / room).rglob("*.py")]
    files += [PACKAGE / "runner" / f"{name}.py" for name in _RUNNER_MODULES]
    if family is None:
        files.append(PACKAGE / "runner" / "peers.py")
    else:  # what lies beside the families is shared by them
        files += [*(PACKAGE / "models").glob("*.py"), *(PACKAGE / "models" / family).rglob("*.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(PACKAGE).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def commit() -> tuple[str | None, bool | None]:
    """Return the commit of this checkout and whether its code or experiments differ from it; None outside of git."""
    # Only where git tracks this very file: an installed copy may lie inside somebody else's repository.
    if _git("ls-files", "--error-unmatch", "version.py") is None:
        return None, None
    root = _git("rev-parse", "--show-toplevel")
    changes = _git("-C", root or ".", "status", "--porcelain", "--", "src", "experiments")
    return _git("rev-parse", "HEAD"), bool(changes)


def machine() -> dict[str, Any]:
    """Describe the computer by what matters to a number, without its name."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions(*more: str) -> dict[str, str]:
    """Return the versions of gossamer, of the libraries that do its arithmetic, and of `more`."""
    return {"gossamer": gossamer.__version__} | {name: metadata.version(name) for name in (*_LIBRARIES, *more)}


def reset_peak_rss() -> None:
    """Let `peak_rss_bytes` count from now on, where Linux allows it; elsewhere it counts from the process's start."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_rss_bytes() -> int:
    """Return the largest resident memory of this process so far."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        import resource  # not on Windows, where there is no runner either

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=PACKAGE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
