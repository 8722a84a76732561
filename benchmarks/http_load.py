"""Load on an HTTP server, by `wrk` where it is installed and by a small client of our own otherwise."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

WRK_SETTINGS = ["-t1", "--latency"]
SCRIPT = """
local bodies = {}
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
local headers, next_body = {["Content-Type"] = "application/json"}, 0
request = function()
  next_body = next_body % #bodies + 1
  return wrk.format(wrk.method, nil, headers, bodies[next_body])
end
done = function(summary, latency)
  local e = summary.errors
  print(string.format('{"requests": %d, "seconds": %f, "p50_ms": %f, "p99_ms": %f, "errors": %d}', summary.requests,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""


def load(url: str, bodies: Sequence[str], *, seconds: int, connections: int, core: int | None) -> dict[str, float]:
    """Post `bodies` in turn over kept-alive connections, each with one request at a time; a status >= 400 is an error.

    No bodies means GET. The client keeps to `core`.
    """
    measure = _by_wrk if shutil.which("wrk") else _by_ourselves
    found = measure(url, bodies, seconds, connections, core)
    return {
        "requests_per_second": found["requests"] / found["seconds"],
        "p50_ms": found["p50_ms"],
        "p99_ms": found["p99_ms"],
        "errors": found["errors"],
    }


def client_name() -> str:
    """Return which client `load` asks with, and its version."""
    if not shutil.which("wrk"):
        return "http_load.py"
    said = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout  # it exits with 1
    return " ".join(said.split()[:2])


def _by_wrk(url: str, bodies: Sequence[str], seconds: int, connections: int, core: int | None) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        listed, script = Path(folder) / "bodies", Path(folder) / "script.lua"
        listed.write_text("".join(f"{body}\n" for body in bodies or [""]))
        script.write_text(f'wrk.method = "{"POST" if bodies else "GET"}"\n{SCRIPT}')
        command = ["wrk", *WRK_SETTINGS, f"-c{connections}", f"-d{seconds}s", f"-s{script}", url]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "BODIES": str(listed)},
            preexec_fn=None if core is None else lambda: os.sched_setaffinity(0, {core}),
        )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _by_ourselves(
    url: str, bodies: Sequence[str], seconds: int, connections: int, core: int | None
) -> dict[str, float]:
    before = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        return asyncio.run(_ask_all(url, bodies, seconds, connections))
    finally:
        os.sched_setaffinity(0, before)


async def _ask_all(url: str, bodies: Sequence[str], seconds: int, connections: int) -> dict[str, float]:
    address = urlsplit(url)
    method = "POST" if bodies else "GET"
    requests = [
        f"{method} {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        for body in bodies or [""]
    ]
    times: list[float] = []
    errors = 0
    began = time.perf_counter()

    async def ask(first: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        number = first
        while time.perf_counter() - began < seconds:
            asked = time.perf_counter()
            writer.write(requests[number % len(requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            times.append(time.perf_counter() - asked)
            errors += int(head.split()[1]) >= 400
            number += connections
        writer.close()

    await asyncio.gather(*(ask(number) for number in range(connections)))
    p50, p99 = np.percentile(times, [50, 99]) * 1e3
    spent = time.perf_counter() - began
    return {"requests": len(times), "seconds": spent, "p50_ms": p50, "p99_ms": p99, "errors": errors}
