"""Requests counted and timed, as the text that Prometheus reads."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from gossamer.core.atomic import replacing_file

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
HELP = {
    "gossamer_requests_total": ("counter", "Requests by route and status."),
    "gossamer_request_seconds": ("histogram", "Seconds from request to response, by route."),
    "gossamer_batches_total": ("counter", "Calls of models for questions that are answered together."),
    "gossamer_batched_questions_total": ("counter", "Questions answered by these calls."),
    "gossamer_reloads_total": ("counter", "Artifacts that were replaced and loaded again."),
}


class Counters:
    """Sums by name and labels, of this process and, where workers share a `folder`, of all of them."""

    def __init__(self, folder: Path | None = None) -> None:
        self._own: Counter[str] = Counter()
        self._folder = folder

    def add(self, name: str, amount: float = 1, labels: str = "") -> None:
        """Add to a sum; `labels` as Prometheus writes them, without braces."""
        self._own[f"{name}{{{labels}}}" if labels else name] += amount  # type: ignore[assignment]

    def record(self, route: str, status: int, seconds: float) -> None:
        """Count a request that is done."""
        self.add("gossamer_requests_total", labels=f'route="{route}",status="{status}"')
        bucket = bisect_left(BUCKETS, seconds)
        self.add("gossamer_request_seconds_bucket", labels=f'route="{route}",le="{_edge(bucket)}"')
        self.add("gossamer_request_seconds_sum", seconds, labels=f'route="{route}"')

    def record_batch(self, size: int) -> None:
        """Count a call of a model for `size` questions."""
        self.add("gossamer_batches_total")
        self.add("gossamer_batched_questions_total", size)

    def share(self) -> None:
        """Let other workers see this one's sums; any thread may, because it writes a copy that is made at once."""
        if self._folder is not None:
            sums = json.dumps(dict(self._own))
            with replacing_file(self._folder / f"{os.getpid()}.json", durable=False) as temporary:
                temporary.write_text(sums)

    def text(self) -> str:
        """Return all sums in Prometheus's text format."""
        sums = _with_histograms(self._of_all_workers())
        lines: list[str] = []
        for name, (kind, meaning) in HELP.items():
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
            lines += [
                f"{key} {value:g}" if value % 1 else f"{key} {int(value)}"
                for key, value in sums.items()
                if _is_of(key, name)
            ]
        return "\n".join(lines) + "\n"

    def _of_all_workers(self) -> Counter[str]:
        sums = Counter(self._own)
        if self._folder is not None:
            for path in self._folder.glob("*.json"):
                if path.stem != str(os.getpid()):  # those of a worker that ended count, too
                    sums.update(json.loads(path.read_text()))
        return sums


def _edge(bucket: int) -> str:
    return f"{BUCKETS[bucket]:g}" if bucket < len(BUCKETS) else "+Inf"


def _is_of(key: str, name: str) -> bool:
    family = key.split("{", 1)[0]
    return family == name or (
        HELP[name][0] == "histogram" and family in {f"{name}_{part}" for part in ("bucket", "sum", "count")}
    )


def _with_histograms(sums: Mapping[str, float]) -> dict[str, float]:
    """Return sums with buckets that hold all shorter times, and counts, as Prometheus wants them."""
    name = "gossamer_request_seconds"
    plain = {key: value for key, value in sums.items() if not key.startswith(f"{name}_bucket")}
    routes = [key.split('route="', 1)[1].split('"', 1)[0] for key in plain if key.startswith(f"{name}_sum")]
    for route in routes:
        total = 0.0
        for edge in map(_edge, range(len(BUCKETS) + 1)):
            total += sums.get(f'{name}_bucket{{route="{route}",le="{edge}"}}', 0)
            plain[f'{name}_bucket{{route="{route}",le="{edge}"}}'] = total
        plain[f'{name}_count{{route="{route}"}}'] = total
    return plain
