from __future__ import annotations

import numpy as np
from tiny_models import random_model

from gossamer.models.markov.hsmm_pass import HSMMPass, log_survival


def test_survival_of_a_table_that_ends_early():
    np.testing.assert_allclose(np.exp(log_survival(np.log([[0.5, 0.5, 1e-320]])))[0, :2], [1.0, 0.5])
    assert log_survival(np.array([0.0, -np.inf])).tolist() == [0.0, -np.inf]


def test_log_space_and_scaled_passes_agree():
    """The way for sequences that are lost, taken by sequences that are not."""
    model = random_model(23, 3, [7, 5], longest=4, zeros=0.1)
    logs = [log.detach().numpy() for log in model.hsmm]
    logs = (*(log[None] for log in logs[:3]), logs[3])
    scaled, slow = (HSMMPass(logs, model.offsets, wants_ages=True) for _ in range(2))
    slow.lost[:] = True
    slow.settle()
    np.testing.assert_allclose(slow.log_likelihood, scaled.log_likelihood)
    np.testing.assert_allclose(slow.ages, scaled.ages, atol=1e-12)
    weights = np.array([1.0, -2.0])
    for found, expected in zip(slow.counts(weights), scaled.counts(weights), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
