from __future__ import annotations

import numpy as np

from gossamer.core.protocols import Recommendations, Recommender, Sampler


def test_protocols_recognise_a_face_by_its_methods():
    class OnlyRecommends:
        def recommend(self, history, n=10, *, exclude_seen=True):
            return Recommendations(np.zeros((1, n), dtype=np.int32), np.zeros((1, n), dtype=np.float32))

    assert isinstance(OnlyRecommends(), Recommender)
    assert not isinstance(OnlyRecommends(), Sampler)
    assert len(OnlyRecommends().recommend(None)) == 1
