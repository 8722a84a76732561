"""The graph of operators in headless Chromium: walked, opened, and turned over where it is long."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from gossamer.serving.explorer import drawing

pytestmark = pytest.mark.browser


def test_a_graph_is_walked_by_keys_and_its_boxes_open(visit):
    page = visit.open("layers", model="network")
    page.get_by_label("Show").select_option("graph")
    boxes = page.locator(".graph .box")
    expect(page.locator(".graphside")).to_contain_text("Goes in")
    boxes.first.focus()
    page.keyboard.press("ArrowDown")
    expect(boxes.nth(1)).to_be_focused()
    expect(boxes.nth(1)).to_have_class(re.compile("chosen"))
    page.locator(".graph .box", has_text="24×5").click()
    page.locator(".graphside .link").first.click()
    expect(page.locator(".graphside .histogram")).to_be_visible()
    visit.open("layers", model="index", show="graph")
    expect(page.locator(".notice").last).to_contain_text("This model has no graph")


def test_a_long_graph_is_turned_over(visit, monkeypatch):
    monkeypatch.setattr(drawing, "MOST_BOXES", 4)  # of a model whose graph nobody else looks at: drawings are kept
    page = visit.open("layers", model="codes", show="graph")
    side, boxes = page.locator(".graphside"), page.locator(".graph .box")
    expect(side).to_contain_text("Operators 1 to 4 of")
    expect(boxes).to_have_count(4)
    page.get_by_role("button", name="Later").click()
    expect(side).to_contain_text("Operators 5 to 8 of")
    expect(page.locator(".graph .box.earlier").first).to_be_visible()
    page.get_by_role("button", name="Earlier", exact=True).click()
    expect(side).to_contain_text("Goes in")
    expect(page.get_by_role("button", name="Earlier", exact=True)).to_be_disabled()
