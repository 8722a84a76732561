"""The explorer in headless Chromium: found, clicked, typed, compared, on a phone, in the dark, and when things fail."""

from __future__ import annotations

import re

import pytest
from browsing import (
    DESK,
    PHONE,
    Visit,
    hits,
    requested,
    running,
    until_held,
    width_of,
)
from explorer_samples import HOSTILE, NAMES
from playwright.sync_api import expect

from gossamer.serving.service import Service
from gossamer.serving.settings import Settings

pytestmark = pytest.mark.browser

VIEWS = {
    "model": {"model": "topics"},
    "names": {"model": "anchors", "kind": "items", "name": NAMES[0]},
    "groups": {"model": "topics"},
    "map": {"model": "phases", "kind": "events"},
    "layers": {"model": "network"},
    "runs": {"model": "als", "experiment": "tiny"},
    "compare": {"model": "als", "left": "als", "right": "ease", "kind": "items", "name": NAMES[0]},
}


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_fits_a_phone_and_a_desk_and_every_control_has_a_name(visit, view):
    page = visit.page
    for size in (DESK, PHONE):
        page.set_viewport_size(size)
        page.goto("about:blank")  # or only the part behind the # would change, and nothing be drawn anew
        visit.open(view, **VIEWS[view])
        expect(page.locator(f"main:not([aria-busy]) > .view[data-view={view}]")).to_be_visible()
        assert width_of(page) <= size["width"]
        assert page.locator("h2").count() == 1
    assert visit.said == []
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, a[href], input, select, canvas, [role=region]')]
            .filter((node) => !(node.textContent.trim() || node.ariaLabel || node.labels?.[0]?.textContent.trim()))
            .map((node) => node.outerHTML)"""
    )
    assert nameless == []


def test_search_by_keyboard(visit):
    page = visit.open("model", model="als")
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search names")
    expect(box).to_be_focused()
    page.keyboard.type("apple3")
    expect(hits(page)).to_have_count(1)
    page.keyboard.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="fruit.apple3")).to_be_visible()
    expect(page.get_by_role("heading", name="Nearest neighbours")).to_be_visible()


def test_enter_takes_what_is_typed_and_not_what_was_found_before(visit):
    page = visit.open("model", model="als")
    box = page.get_by_role("combobox", name="Search names")
    box.fill("apple")
    expect(hits(page)).to_have_count(10)
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="fruit.apple3")).to_be_visible()
    page.locator("#model").select_option("ease")
    expect(page.get_by_role("link", name="Layers")).to_have_attribute("href", re.compile("model=ease"))
    box.focus()
    expect(page.get_by_role("listbox")).to_be_hidden()  # what was found was found in another model


def test_search_by_mouse_and_back_again(visit):
    page = visit.open("model", model="ease")
    page.get_by_role("combobox", name="Search names").fill("iron")
    hits(page).nth(2).click()
    expect(page.get_by_role("heading", level=2)).to_contain_text("metal.iron")
    first = page.locator(".bars a").first
    name = first.inner_text()
    first.click()
    expect(page.get_by_role("heading", level=2)).to_have_text(name)
    page.go_back()
    page.go_back()
    expect(page.get_by_role("heading", level=2)).to_have_text("EASE")


def test_escape_closes_and_lets_go(visit):
    page = visit.open("model", model="als")
    box = page.get_by_role("combobox", name="Search names")
    box.fill("apple")
    expect(page.get_by_role("listbox")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    page.keyboard.press("Escape")
    assert box.input_value() == ""
    expect(box).not_to_be_focused()


@pytest.mark.parametrize(
    ("typed", "sentence"), [("", "Type a part of a name first."), ("zzz", "No name has “zzz” in it.")]
)
def test_a_search_without_hits_says_so(visit, typed, sentence):
    page = visit.open("model", model="als")
    page.get_by_role("combobox", name="Search names").fill(typed)
    page.keyboard.press("Enter")
    expect(page.locator(".found .message")).to_have_text(sentence)


def test_groups_by_click_bubble_and_keys(visit):
    page = visit.open("groups", model="topics")
    buttons = page.locator(".grouplist button")
    expect(buttons).to_have_count(2)
    buttons.nth(0).click()
    expect(page.locator(".opened h3")).to_have_text(f"topic {buttons.nth(0).locator('.label').inner_text()}")
    expect(buttons.nth(0)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowDown")
    expect(buttons.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(buttons.nth(1)).to_have_attribute("aria-pressed", "true")
    page.locator(".bubble[data-number='0'] circle").click(force=True)
    expect(buttons.nth(0)).to_have_attribute("aria-pressed", "true")
    assert "number=0" in page.url


def test_the_relevance_slider_asks_again(visit):
    page = visit.open("groups", model="topics")
    slider = page.get_by_role("slider", name="Relevance, lambda")
    slider.focus()
    with page.expect_response(lambda response: "relevance=0&" in response.url or response.url.endswith("relevance=0")):
        page.keyboard.press("Home")
    expect(page.locator(".lambda")).to_contain_text("0.00")
    expect(page.get_by_role("slider", name="Relevance, lambda")).to_be_focused()


RADII = (
    "[...document.querySelectorAll('.bubble')]"
    ".map((dot) => [dot.dataset.number, dot.firstChild.getAttribute('r')].join(': ')).sort().join()"
)


def test_a_name_resizes_the_circles_while_it_is_pointed_at_and_for_longer_when_it_is_held(visit):
    page = visit.open("groups", model="topics")
    sizes = page.evaluate(RADII)
    name = page.locator(".opened .bars a").first.inner_text()
    page.locator(".opened .bars li").first.hover()
    expect(page.locator(".bubbles")).to_have_class(re.compile("spread"))
    expect(page.locator(".side .small")).to_contain_text("divides over them")
    assert page.evaluate(RADII) != sizes
    page.get_by_role("slider", name="Relevance, lambda").hover()
    expect(page.locator(".bubbles")).not_to_have_class(re.compile("spread"))
    assert page.evaluate(RADII) == sizes
    page.locator(".opened .bars a").nth(1).focus()  # by keyboard as well
    expect(page.locator(".bubbles")).to_have_class(re.compile("spread"))
    page.locator(".opened .bars a").first.click()
    page.get_by_role("link", name="See it over every topic").first.click()
    expect(page.locator(".side .small")).to_contain_text(f"how “{name}” divides")
    page.get_by_role("button", name="Show sizes again").click()
    assert page.evaluate(RADII) == sizes
    assert "term=" not in page.url


def test_a_name_that_is_drawn_under_a_resting_pointer_is_not_pointed_at(visit):
    page = visit.open("groups", model="topics")
    bars = page.locator(".opened .bars li")
    held, other = (bars.nth(place).locator("a").inner_text() for place in (0, 1))
    where = bars.nth(1).bounding_box()
    page.mouse.move(where["x"] + where["width"] / 2, where["y"] + where["height"] / 2)
    expect(page.locator(".side .small")).to_contain_text(f"how “{other}” divides")
    page.evaluate("(term) => { location.hash = `${location.hash.replace(/&term=[^&]*/, '')}&term=${term}`; }", held)
    expect(page.locator(".side .small")).to_contain_text(f"how “{held}” divides")
    page.wait_for_timeout(500)  # longer than a pointer must rest on a name
    assert f"how “{held}” divides" in page.locator(".side .small").inner_text()
    assert page.evaluate("document.querySelectorAll('.opened .bars li:hover').length") == 1
    page.mouse.move(where["x"] + where["width"] / 2 + 3, where["y"] + where["height"] / 2)
    expect(page.locator(".side .small")).to_contain_text(f"how “{other}” divides")


def test_groups_one_after_the_other_and_all_together(visit):
    page = visit.open("groups", model="topics")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".grouplist button").nth(1)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="All together").click()
    expect(page.locator(".opened h3")).to_have_text("Most salient terms")
    expect(page.locator(".grouplist [aria-pressed=true]")).to_have_count(0)
    page.get_by_role("button", name="Previous").click()
    expect(page.locator(".opened h3")).to_have_text("topic 2")


def test_a_late_answer_does_not_replace_a_newer_one(visit):
    page = visit.open("groups", model="topics")
    held = []
    page.route(re.compile(r"relevance=0$"), lambda route: held.append(route))
    page.get_by_role("slider", name="Relevance, lambda").focus()
    page.keyboard.press("Home")
    until_held(page, held)
    page.keyboard.press("End")
    expect(page.locator(".lambda")).to_contain_text("1.00")
    members = page.locator(".opened .bars")
    expect(members).to_be_visible()
    with page.expect_response(re.compile(r"relevance=0$")):
        held[0].fulfill(json={**requested(page, "group", model="topics", key="topics", number=0), "members": []})
    page.evaluate("new Promise((resolve) => setTimeout(resolve))")
    expect(members).to_be_visible()


def test_a_server_that_needs_longer_is_asked_again(visit):
    visit.allowed = "503"
    first = []

    def once(route):
        route.continue_() if first else route.fulfill(status=503, json={"error": "took too long"})
        first.append(route)

    visit.page.route("**/explore/model?*", once)
    expect(visit.open("model", model="als").get_by_role("heading", level=2)).to_have_text("ALS")
    assert len(first) == 2


def test_who_waits_for_a_map_is_told_until_it_comes(visit):
    page = visit.open("model", model="als")
    held = []
    page.route("**/explore/map?*", lambda route: held.append(route))
    page.evaluate("location.hash = '#map?model=als'")
    until_held(page, held)
    expect(page.locator("main .notice")).to_contain_text(re.compile("Working on “Map” for [2-9] s"))
    held[0].continue_()
    expect(page.locator("canvas.cloud")).to_be_visible()
    expect(page.locator("main .notice")).to_have_count(0)


@pytest.mark.parametrize("view", ["constructor?model=als", "model?model=als&view=absent"])
def test_an_address_that_is_no_view_is_the_model(visit, view):
    visit.page.goto(f"{visit.address}/#{view}")
    expect(visit.page.get_by_role("heading", level=2)).to_have_text("ALS")


def test_numbers_and_columns(visit):
    page = visit.open("model", model="als")
    written = page.evaluate(
        """async () => {
            const { bytes, seconds } = await import('/explore/static/numbers.js');
            const { table } = await import('/explore/static/parts.js');
            const titles = { name: 'what', left: '7', right: 'what' };
            const node = table([{ name: 'x', left: 1, right: 2 }], { titles });
            const texts = (kind) => [...node.querySelectorAll(kind)].map((cell) => cell.textContent);
            return [bytes(512.5), seconds(0.25), seconds(59.97), seconds(119.7), texts('th'), texts('td')];
        }"""
    )
    assert written == ["513 B", "250 ms", "1 min 0 s", "2 min 0 s", ["what", "7", "what"], ["x", "1", "2"]]


def test_members_lead_to_names_and_names_to_groups(visit):
    page = visit.open("groups", model="anchors", key="anchors-items")
    page.locator(".opened .bars a").first.click()
    expect(page.locator(".crumb")).to_have_text("one of the items of anchors")
    page.locator(".card", has_text="weight of the anchor").locator("a").first.click()
    expect(page.locator(".opened h3")).to_contain_text("anchor")


def test_layers_show_ranks(visit):
    page = visit.open("layers", model="network")
    expect(page.locator(".rank").first).to_contain_text("rank ")
    expect(page.locator(".factor").first).to_be_visible()
    page.locator("summary").first.click()
    expect(page.locator("details table").first).to_be_visible()


def test_weights_have_a_histogram_and_a_file(visit):
    page = visit.open("layers", model="network")
    page.locator("summary", has_text="Weights").first.click()
    page.locator("details .link").first.click()
    expect(page.locator(".tensor .histogram rect")).to_have_count(40)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Save as .npy").click()
    assert waiting.value.suggested_filename.endswith(".npy")


def test_runs_show_the_front_and_change_with_the_choice(visit):
    page = visit.open("runs", model="als", experiment="tiny")
    expect(page.locator(".scatter .point")).to_have_count(3)
    expect(page.locator(".scatter .point.best")).to_have_count(2)
    page.get_by_label("Cost").select_option("seconds")
    expect(page.locator(".scatter .point")).to_have_count(4)
    assert "x=seconds" in page.url


def test_compare_marks_what_both_answer(visit):
    page = visit.open("compare", model="als", left="als", right="ease")
    expect(page.locator("table").first).to_contain_text("values")
    expect(page.locator(".better").first).to_be_visible()
    page.get_by_role("combobox", name="Ask both about a name").fill("apple1")
    hits(page).first.click()
    expect(page.locator(".answer")).to_have_count(2)
    assert page.locator(".marked").count() > 0
    page.get_by_label("Right").select_option("topics")
    expect(page.locator(".answer").nth(1).locator("h4")).to_have_text("topics")


def test_another_model_is_a_choice_away(visit):
    page = visit.open("groups", model="topics")
    page.locator("#model").select_option("phases")
    expect(page.get_by_role("heading", level=2)).to_have_text("Phases of events")


@pytest.mark.parametrize(
    ("view", "parameters", "sentence"),
    [
        ("names", {"model": "als", "kind": "items", "name": "absent"}, "is not among the 20 items"),
        ("names", {"model": "absent"}, "No model called “absent” is served here"),
        ("groups", {"model": "als"}, "This model sorts its names into nothing"),
        ("map", {"model": "network"}, "This model has no map"),
        ("map", {"model": "als", "kind": "items", "name": "absent"}, "“absent” is not on this map."),
        ("runs", {"model": "als", "experiment": "absent"}, "There are no runs of “absent”."),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(visit, view, parameters, sentence):
    page = visit.open(view, **parameters)
    expect(page.locator(".notice").first).to_contain_text(sentence)


def test_without_records_and_with_one_model(context, folder, tmp_path):
    with running(Service([folder / "als"]), tmp_path / "none") as address:
        visit = Visit(context, address)
        expect(visit.open("runs").locator(".notice")).to_contain_text("No result records were found")
        expect(visit.open("compare").locator(".notice")).to_contain_text("Only one model is served here")
        visit.page.close()


def test_a_server_that_is_gone_is_said_to_be_gone(context, served, results):
    with running(served, results) as address:
        page = Visit(context, address).open("model", model="als")
    page.get_by_role("combobox", name="Search names").fill("apple")
    expect(page.locator(".found .error")).to_contain_text("The server does not answer")
    page.get_by_role("link", name="Layers").click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.close()


def test_a_server_with_a_token_lets_in_who_has_it(browser, served, results):
    with running(served, results, Settings(token="sesame")) as address:
        context = browser.new_context(http_credentials={"username": "", "password": "sesame"})
        page = Visit(context, address).open("model", model="als")
        expect(page.get_by_role("heading", level=2)).to_have_text("ALS")
        context.close()


@pytest.mark.parametrize("view", ["names", "map", "compare"])
def test_hostile_names_are_only_text(visit, view):
    page = visit.open(view, model="als", left="als", right="ease", kind="items", name=HOSTILE)
    expect(page.locator(".answer").first if view == "compare" else page.get_by_text(HOSTILE).first).to_be_attached()
    page.get_by_role("combobox", name="Search names").fill("onerror")
    expect(hits(page)).to_contain_text(HOSTILE)
    assert page.locator("main img, .found img").count() == 0
    assert "owned" not in page.title()


def test_dark_by_the_system_and_by_choice(browser, address):
    background = "getComputedStyle(document.body).backgroundColor"
    context = browser.new_context(color_scheme="dark")
    page = Visit(context, address).open("model", model="als")
    assert page.evaluate(background) == "rgb(19, 23, 28)"
    page.get_by_role("button", name="Colours").click()
    assert page.evaluate(background) == "rgb(252, 252, 250)"
    page.reload()
    page.wait_for_selector(".view")
    assert page.evaluate(background) == "rgb(252, 252, 250)"
    page.get_by_role("button", name="Colours: light").click()
    assert page.evaluate(background) == "rgb(19, 23, 28)"
    context.close()


def test_focus_can_be_seen_and_begins_at_the_top(visit):
    page = visit.open("model", model="als")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    for _ in range(4):
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style != "none", page.evaluate("document.activeElement.outerHTML")
