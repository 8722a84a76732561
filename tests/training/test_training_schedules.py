from __future__ import annotations

import pytest

from gossamer.training.schedules import warm_cosine


def test_rate_rises_and_falls():
    factors = [warm_cosine(update, 200) for update in range(201)]
    assert max(factors) == factors[9] == 1.0
    assert factors[10:] == sorted(factors[10:], reverse=True)
    assert factors[-1] == pytest.approx(0.0, abs=1e-9)
