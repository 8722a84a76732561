"""How much memory a large Parquet file takes on its way into `Interactions`, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

# Counts from a resident size taken after numba has compiled and polars has started, so that only data are measured.
MEASURE = """
import json, sys
import polars as pl
from gossamer.data.readers import read_interactions

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

read_interactions(pl.DataFrame({"user": [1, 1], "item": [1, 2], "time": [1, 2]}))
before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # resets the peak
data = read_interactions(sys.argv[1])
print(json.dumps({"pairs": data.nnz, "bytes": data.nbytes, "growth": status("VmHWM") - before}))
"""


def measure(path: Path) -> dict[str, int]:
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    measured: dict[str, int] = json.loads(done.stdout)
    return measured


def write_parquet(path: Path, num_rows: int, num_users: int, row_group_size: int | None = None) -> None:
    """Write distinct (user, item, time) rows in random order of users."""
    generator = np.random.default_rng(0)
    rows = generator.permutation(num_rows)
    table = pl.DataFrame(
        {
            "user": rows % num_users,
            "item": rows // num_users * 151 + rows % 151,
            "time": generator.integers(10**9, 15 * 10**8, num_rows),
        }
    )
    table.write_parquet(path, row_group_size=row_group_size)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is read from Linux' /proc")
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("row_groups", ["many", "one"])
def test_twenty_million_rows_take_less_than_three_times_their_size(tmp_path: Path, row_groups: str) -> None:
    num_rows = 20_000_000
    path = tmp_path / "big.parquet"
    write_parquet(path, num_rows, 138_000, None if row_groups == "many" else num_rows)
    measured = measure(path)
    assert measured["pairs"] == num_rows
    assert measured["growth"] <= 3 * measured["bytes"], measured
    print(f"{row_groups} row groups: {measured['growth'] / measured['bytes']:.2f} times the final size")
