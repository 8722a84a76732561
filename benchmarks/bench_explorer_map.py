"""How smooth is the explorer's map of 20,000 names? Frames while it is moved and zoomed, in headless Chromium.

The server and the browser run on the same machine, without a graphics card, so that every point is drawn by a core: a
laptop does no worse. For five seconds every frame moves and zooms the map a little, as a hand would; the time of a
frame is from one `requestAnimationFrame` to the next (16.7 ms is as fast as a screen shows), and `paint ms` what of it
our own code takes. Beside the plane, a room that turns, which sorts its points by depth.

    python benchmarks/bench_explorer_map.py                       half a minute
    python benchmarks/bench_explorer_map.py --small --repeats 1   2,000 names, nothing written
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from measuring import Arrays, run_benchmark

NAMES = {"num_items": 20_000, "num_users": 4_000, "nnz": 80_000}
FRAMES, WARM_UP = 300, 30
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
DESK = {"width": 1280, "height": 860}
# Times of frames and of painting, while the map moves: there and back, so that all points stay in view.
MOVE = """async ([frames, isRoom]) => {
    const cloud = document.querySelector("canvas").cloud, paint = cloud.paint.bind(cloud);
    const paints = [], times = [];
    cloud.paint = () => { const began = performance.now(); paint(); paints.push(performance.now() - began); };
    const frame = () => new Promise(requestAnimationFrame);
    let before = await frame();
    for (let number = 0; number < frames; number += 1) {
        const side = number % 60 < 30 ? 1 : -1;
        if (isRoom) cloud.turn(4 * side, 2 * side);
        else cloud.pan(4 * side, 2 * side);
        cloud.zoom(side > 0 ? 1.01 : 1 / 1.01);
        const now = await frame();
        times.push(now - before);
        before = now;
    }
    cloud.paint = paint;
    return { times, paints };
}"""


def few_pairs(*, num_items: int, num_users: int, nnz: int) -> Arrays:
    """Return random pairs in which every item comes at least once."""
    generator = np.random.default_rng(0)
    items = np.concatenate([np.arange(num_items), generator.integers(0, num_items, nnz - num_items)])
    return {"items": items, "users": generator.integers(0, num_users, nnz), "shape": np.array([num_users, num_items])}


def contender(axes: str) -> Callable[[Arrays], Callable[[], dict[str, float]]]:
    def set_up(arrays: Arrays) -> Callable[[], dict[str, float]]:
        from playwright.sync_api import sync_playwright

        def timed() -> dict[str, float]:
            with _serving(arrays) as url, sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
                page = browser.new_page(viewport=DESK)
                page.goto(f"{url}/#map?model=als&kind=items&axes={axes}")
                page.wait_for_function("() => document.querySelector('canvas')?.cloud", timeout=60_000)
                page.evaluate(MOVE, [WARM_UP, axes.count(",") == 2])
                found = page.evaluate(MOVE, [FRAMES, axes.count(",") == 2])
                points = page.evaluate("() => document.querySelector('canvas').cloud.count")
                browser.close()
            median, p95 = np.percentile(found["times"], [50, 95])
            return {
                "median_ms": float(median),
                "p95_ms": float(p95),
                "paint_ms": float(np.median(found["paints"])),
                "frames": FRAMES,
                "points": points,
            }

        return timed

    return set_up


@contextmanager
def _serving(arrays: Arrays) -> Iterator[str]:
    """Serve a small factorisation of all these items, in a thread of its own."""
    import uvicorn

    from gossamer.data import Interactions, Vocabulary
    from gossamer.models.linear import ALS
    from gossamer.serving.app import create_app
    from gossamer.serving.explorer import make_router
    from gossamer.serving.service import Service

    num_users, num_items = (int(size) for size in arrays["shape"])
    ids = {"user_ids": Vocabulary.numbered(num_users), "item_ids": Vocabulary.numbered(num_items)}
    with tempfile.TemporaryDirectory() as folder:
        data = Interactions.from_pairs(arrays["users"], arrays["items"], **ids)
        ALS(num_factors=8, epochs=1).fit(data).save(Path(folder) / "als")
        service = Service([Path(folder) / "als"])
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        app = create_app(service, explorer=make_router(service, folder))
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()


def _chromium() -> str:
    said = subprocess.run(["chromium", "--version"], capture_output=True, text=True, check=False).stdout
    return " ".join(said.split()[:2])


if __name__ == "__main__":
    run_benchmark(
        "explorer-map",
        "Frames of a map of 20,000 names that is moved and zoomed, in headless Chromium without a graphics card",
        NAMES,
        {"plane": contender("1,2"), "room (3-D)": contender("1,2,3")},
        small={"num_items": 2_000, "num_users": 500, "nnz": 8_000},
        make=few_pairs,
        load=lambda arrays: arrays,
        costs={"median_ms": "median frame ms", "p95_ms": "p95 frame ms"},
        packages=("playwright", "fastapi", "uvicorn"),
        repeats=1,
        client={"name": _chromium(), "settings": f"{' '.join(FLAGS)}, {DESK['width']} × {DESK['height']} pixels"},
    )
