from __future__ import annotations

import numpy as np

from gossamer.persistence.stored_size import stored_size


class Stores:
    def learned_arrays(self) -> dict[str, np.ndarray]:
        return {"values": np.zeros(3, dtype=np.float32), "indices": np.zeros(5, dtype=np.int64)}


class KnowsBetter(Stores):
    def num_values(self) -> int:
        return 2

    def num_bytes(self) -> int:
        return 9


def test_indices_are_bytes_and_no_values():
    assert stored_size(Stores()) == (3, 52)
    assert stored_size(KnowsBetter()) == (2, 9)
