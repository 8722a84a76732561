from __future__ import annotations

import json
import re

from gossamer.serving.counters import Counters

LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? [0-9.e+-]+')


def test_every_line_is_what_prometheus_reads():
    counters = Counters()
    counters.record("/recommend", 200, 0.003)
    counters.record("/recommend", 404, 20.0)
    counters.record_batch(7)
    text = counters.text()
    assert all(LINE.fullmatch(line) for line in text.splitlines() if not line.startswith("# "))
    assert 'gossamer_requests_total{route="/recommend",status="404"} 1' in text
    assert 'gossamer_request_seconds_bucket{route="/recommend",le="0.0025"} 0' in text
    assert 'gossamer_request_seconds_bucket{route="/recommend",le="0.005"} 1' in text
    assert 'gossamer_request_seconds_bucket{route="/recommend",le="10"} 1' in text
    assert 'gossamer_request_seconds_bucket{route="/recommend",le="+Inf"} 2' in text
    assert 'gossamer_request_seconds_count{route="/recommend"} 2' in text
    assert 'gossamer_request_seconds_sum{route="/recommend"} 20.003' in text
    assert "gossamer_batched_questions_total 7" in text


def test_a_time_on_the_edge_is_below_it():
    counters = Counters()
    counters.record("/health", 200, 0.001)
    assert 'le="0.001"} 1' in counters.text()


def test_workers_are_counted_together(tmp_path):
    counters = Counters(tmp_path)
    counters.record("/health", 200, 0.002)
    (tmp_path / "1.json").write_text(json.dumps({'gossamer_requests_total{route="/health",status="200"}': 41}))
    assert 'gossamer_requests_total{route="/health",status="200"} 42' in counters.text()
    counters.share()
    assert 'gossamer_requests_total{route="/health",status="200"} 42' in counters.text()
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_to_share_waits_for_no_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("gossamer.core.atomic.sync_to_disk", lambda _: 1 / 0)
    counters = Counters(tmp_path)
    counters.record("/health", 200, 0.002)
    counters.share()
    assert [json.loads(path.read_text()) for path in tmp_path.glob("*.json")] == [dict(counters._own)]
