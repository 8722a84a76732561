"""The map in headless Chromium: pointed at, moved, turned, searched, and with as many names as it is meant for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browsing import Visit, place_of, running, until
from explorer_samples import NAMES
from playwright.sync_api import expect

from gossamer.data import Interactions, Vocabulary
from gossamer.models.linear import ALS
from gossamer.serving.service import Service

pytestmark = pytest.mark.browser


def test_the_map_names_what_is_pointed_at_and_asks_about_what_is_clicked(visit):
    page = visit.open("map", model="als", kind="items")
    cloud = "document.querySelector('canvas').cloud"
    page.mouse.move(*place_of(page, 4))
    until(page, f"{cloud}.hovered >= 0")
    hovered = page.evaluate(f"{cloud}.names[{cloud}.hovered]")
    assert page.locator("canvas").get_attribute("title") == hovered
    page.mouse.click(*place_of(page, 4))
    expect(page.locator(".mapside > h3")).to_have_text(hovered)
    until(page, f"{cloud}.marked.length > 5")
    page.locator("canvas").focus()
    page.keyboard.press("Escape")
    assert page.evaluate(f"{cloud}.selected") == -1


def test_the_map_zooms_pans_and_resets(visit):
    page = visit.open("map", model="als", kind="items", projection="neighbours")
    place_of(page, 0)
    view = "JSON.stringify(document.querySelector('canvas').cloud.view)"
    first = page.evaluate(view)
    page.locator("canvas").focus()
    page.keyboard.press("+")
    zoomed = page.evaluate(view)
    page.keyboard.press("ArrowRight")
    panned = page.evaluate(view)
    page.get_by_role("button", name="Show all").click()
    assert len({first, zoomed, panned}) == 3
    assert page.evaluate(view) == first
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.wheel(0, -300)
    until(page, f"{view} !== '{first}'")
    page.get_by_role("button", name="Show all").click()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 240)
    page.mouse.up()
    assert page.evaluate(view) != first


def test_a_search_on_the_map_shows_where_a_name_lies(visit):
    page = visit.open("map", model="als", kind="items", projection="neighbours")
    page.get_by_role("combobox", name="Search names").fill("iron5")
    page.keyboard.press("Enter")
    expect(page.locator(".mapside > h3")).to_have_text("metal.iron5")
    assert page.evaluate("document.querySelector('canvas').cloud.selected") == NAMES.index("metal.iron5")
    assert "projection=neighbours" in page.url


def test_a_room_turns_and_the_axes_are_a_choice(visit):
    page = visit.open("map", model="als", kind="items")
    page.get_by_label("Shape").select_option("3")
    expect(page.get_by_label("Deep")).to_be_visible()
    place_of(page, 0)
    flat = "[...document.querySelector('canvas').cloud.coordinates.slice(0, 8)].join()"
    view = "JSON.stringify(document.querySelector('canvas').cloud.view)"
    first, still = page.evaluate(flat), page.evaluate(view)
    page.locator("canvas").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(flat) != first
    assert page.evaluate(view) == still
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate(view) != still
    page.mouse.click(*place_of(page, 4))
    expect(page.locator(".mapside > h3")).to_have_count(1)
    page.get_by_label("Across").select_option("2")
    expect(page.get_by_label("Up")).to_have_value("1")  # two axes changed places
    assert "axes=2%2C1%2C3" in page.url


def test_t_sne_is_a_choice(visit):
    page = visit.open("map", model="als", kind="items")
    page.get_by_label("Projection").select_option("tsne")
    expect(page.locator(".mapside .lead")).to_contain_text("neither distances between heaps nor their sizes")
    place_of(page, 0)
    assert page.evaluate("document.querySelector('canvas').cloud.count") == 20


def test_axes_run_from_one_name_to_another(visit):
    page = visit.open("map", model="als", kind="items")
    page.get_by_label("Projection").select_option("directions")
    expect(page.locator(".mapside .lead")).to_contain_text("up by what else they differ in most")
    for label, part in (("Across: from", "apple3"), ("Across: to", "iron5")):
        page.get_by_role("combobox", name=label).fill(part)
        page.keyboard.press("Enter")
        expect(page.locator(".mapside .lead")).to_contain_text(part)  # drawn anew, boxes and all
    expect(page.locator(".mapside .lead")).to_contain_text("across from “fruit.apple3” to “metal.iron5”")
    page.get_by_role("combobox", name="Up: from").fill("apple1")
    page.keyboard.press("Enter")
    expect(page.locator(".ends [role=status]")).to_have_text("Now the other end.")
    page.get_by_role("combobox", name="Up: to").fill("iron2")
    page.keyboard.press("Enter")
    expect(page.locator(".mapside .lead")).to_contain_text("up from “fruit.apple1” to “metal.iron2”")
    place_of(page, 0)
    cloud = "document.querySelector('canvas').cloud"
    places = page.evaluate(f"[...{cloud}.coordinates]")
    left, right = NAMES.index("fruit.apple3"), NAMES.index("metal.iron5")
    assert (places[2 * left], places[2 * right]) == (pytest.approx(-0.5, abs=1e-5), pytest.approx(0.5, abs=1e-5))
    assert page.evaluate(f"{cloud}.ends") == ["fruit.apple3", "metal.iron5", "fruit.apple1", "metal.iron2"]
    page.reload()  # the address has it all
    expect(page.locator(".mapside .lead")).to_contain_text("up from “fruit.apple1” to “metal.iron2”")
    page.get_by_role("button", name="Let up be what else differs most").click()
    expect(page.locator(".mapside .lead")).to_contain_text("up by what else they differ in most")
    page.get_by_label("Projection").select_option("pca")
    expect(page.get_by_label("Shape")).to_be_visible()  # which axes between names do not have
    assert "across_from" not in page.url


def test_what_is_found_on_a_map_can_be_left_alone_there(visit):
    page = visit.open("map", model="als", kind="items")
    cloud = "document.querySelector('canvas').cloud"
    until(page, cloud)
    box = page.get_by_role("searchbox", name="Find on this map")
    box.fill("/iron[0-3]$/")
    expect(page.locator(".find")).to_contain_text("4 found")
    page.get_by_role("button", name="Only these").click()
    assert page.evaluate(f"[{cloud}.count, {cloud}.shown.reduce((sum, one) => sum + one)]") == [4, 4]
    page.get_by_role("button", name="Bring all back").click()
    assert page.evaluate(f"[{cloud}.count, {cloud}.shown]") == [20, None]
    box.fill("/iron(/")
    expect(page.locator(".find")).to_contain_text("Not a regular expression")


def test_neighbours_by_another_measure_and_colours_by_another_column(visit):
    page = visit.open("map", model="als", kind="items", name=NAMES[1])
    expect(page.locator(".mapside .card").first).to_contain_text("cosine, by")
    page.get_by_label("Nearest by").select_option("euclidean")
    expect(page.locator(".mapside .card").first).to_contain_text("euclidean distance, by")
    page.locator(".choice", has_text="Colour").locator("select").select_option("frequency")
    expect(page.locator(".key")).to_contain_text("how often:")


def test_the_grid_finds_what_brute_force_finds(visit):
    page = visit.open("model", model="als")
    wrong = page.evaluate(
        """async () => {
            const { Grid } = await import('/explore/static/cloud.js');
            let seed = 1, wrong = 0;
            const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
            const points = Float32Array.from({ length: 4000 }, random), grid = new Grid(points);
            for (let turn = 0; turn < 300; turn += 1) {
                const [x, y, radius] = [1.2 * random() - 0.1, 1.2 * random() - 0.1, 0.1 * random()];
                let best = -1, closest = radius * radius;
                for (let point = 0; point < 2000; point += 1) {
                    const squared = (points[2 * point] - x) ** 2 + (points[2 * point + 1] - y) ** 2;
                    if (squared < closest) [best, closest] = [point, squared];
                }
                wrong += grid.nearest(x, y, radius) !== best;
            }
            return wrong;
        }"""
    )
    assert wrong == 0


def many_names(root: Path, size: int) -> Path:
    """Save a factorisation of so many items, each of which comes at least once."""
    generator = np.random.default_rng(0)
    items = np.concatenate([np.arange(size), generator.integers(0, size, 2 * size)])
    users = generator.integers(0, size // 10, len(items))
    names = Vocabulary([f"item {number}" for number in range(size)])
    data = Interactions.from_pairs(users, [names[int(item)] for item in items], item_ids=names)
    ALS(num_factors=4, epochs=1).fit(data).save(root / "many")
    return root / "many"


# How many points each frame drew, and the milliseconds between frames, while the map is zoomed and moved.
MOVED = """async (moves) => {
    const cloud = document.querySelector("canvas").cloud, begin = cloud.squares.begin;
    const frame = () => new Promise(requestAnimationFrame);
    const drawn = [], times = [];
    cloud.squares.begin = function counting(...given) {
        const pen = begin.apply(this, given);
        drawn.push(0);
        return { ...pen, point: (...place) => { drawn[drawn.length - 1] += 1; pen.point(...place); } };
    };
    const moved = async (act) => {
        const before = performance.now();
        act();
        await frame();
        await frame();
        times.push(performance.now() - before);
        return drawn.at(-1);
    };
    const found = { whole: await moved(() => cloud.fit()) };
    for (let number = 0; number < moves; number += 1) {
        await moved(() => { cloud.pan(number % 2 ? 30 : -30, 10); cloud.zoom(1.1); });
    }
    found.close = drawn.at(-1);
    found.again = await moved(() => cloud.fit());
    const { width, height } = cloud.canvas, pixels = cloud.context.getImageData(0, 0, width, height).data;
    let inked = 0;
    for (let at = 3; at < pixels.length; at += 4) inked += pixels[at] > 0;
    return { ...found, frames: drawn.length, times, inked };
}"""


def test_a_map_of_twenty_thousand_names_draws_all_of_them(context, tmp_path):
    service = Service([many_names(tmp_path, 20_000)])
    with running(service, tmp_path) as address:
        visit = Visit(context, address)
        page = visit.open("map", model="many", kind="items")
        place_of(page, 0)
        found = page.evaluate(MOVED, 40)
        assert not visit.said
        visit.page.close()
    assert (found["whole"], found["again"]) == (20_000, 20_000)
    assert 0 < found["close"] < 20_000  # those in view
    assert found["frames"] >= 42
    assert len(found["times"]) == 42
    assert all(milliseconds > 0 for milliseconds in found["times"])  # how long they take is a benchmark's question
    assert found["inked"] > 10_000
