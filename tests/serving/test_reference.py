from __future__ import annotations

import re

from gossamer.serving.reference import describe_type, reference_page


def test_the_page_shows_every_route_and_nothing_from_elsewhere(client):
    page = client.get("/docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert f"{path}</code>" in page
    assert not re.search(r"(src|href)=.?(https?:)?//|<script|@import", page)
    assert "{&#34;item&#34;: &#34;os.path.join&#34;, &#34;n&#34;: 5}" in page


def test_text_is_escaped():
    schema = {
        "info": {"title": "<b>", "version": "1", "description": "&"},
        "paths": {"/<i>": {"get": {"description": "<script>"}}},
    }
    page = reference_page(schema)
    assert "<script>" not in page
    assert "<i>" not in page


def test_types_in_words():
    assert describe_type({}) == "anything"
    assert describe_type({"type": "object", "additionalProperties": {"type": "number"}}) == "object of number"
    assert describe_type({"type": "object"}) == "object"
    assert describe_type({"type": "array"}) == "list"
    assert describe_type({"anyOf": [{"type": "string"}, {"type": "string"}]}) == "string"
