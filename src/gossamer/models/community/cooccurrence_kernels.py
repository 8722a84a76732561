"""The compiled loop that joins items to the items with which they share most users."""

from __future__ import annotations

import numba
import numpy as np

from gossamer.core.kernels import is_worse, sift_down


@numba.njit(cache=True, nogil=True)
def nearest_items(
    user_indptr: np.ndarray, user_items: np.ndarray, item_indptr: np.ndarray, item_users: np.ndarray, count: int,
    chosen: np.ndarray, cosines: np.ndarray,
) -> None:  # fmt: skip
    """Fill (M, count) with the nearest items by cosine, in rising order of number, -1 at the end of short rows.

    Common users are counted in one array that only the items touched are cleared in: Σ_u n_u² steps in all.
    """
    num_items = len(item_indptr) - 1
    common = np.zeros(num_items, dtype=np.int32)
    touched = np.empty(num_items, dtype=np.int32)
    kept_items = np.empty(count, dtype=np.int32)
    kept_scores = np.empty(count, dtype=np.float32)
    for item in range(num_items):
        num_touched = 0
        for place in range(item_indptr[item], item_indptr[item + 1]):
            user = item_users[place]
            for position in range(user_indptr[user], user_indptr[user + 1]):
                other = user_items[position]
                if other == item:
                    continue
                if common[other] == 0:
                    touched[num_touched] = other
                    num_touched += 1
                common[other] += 1
        own = item_indptr[item + 1] - item_indptr[item]
        size = 0
        for number in range(num_touched):
            other = touched[number]
            cosine = np.float32(common[other] / np.sqrt(own * (item_indptr[other + 1] - item_indptr[other])))
            common[other] = 0
            if size < count:
                kept_scores[size], kept_items[size] = cosine, other
                size += 1
                if size == count:
                    for start in range(size // 2 - 1, -1, -1):
                        sift_down(kept_scores, kept_items, start, size)
            elif is_worse(kept_scores[0], kept_items[0], float(cosine), other):
                kept_scores[0], kept_items[0] = cosine, other
                sift_down(kept_scores, kept_items, 0, size)
        order = np.argsort(kept_items[:size])
        for number in range(count):
            chosen[item, number] = kept_items[order[number]] if number < size else -1
            cosines[item, number] = kept_scores[order[number]] if number < size else 0.0
