"""The door to all splits; each is seeded and leaks nothing of what is held out into training."""

from gossamer.data.splits.contents import split_contents
from gossamer.data.splits.documents import split_documents, split_given
from gossamer.data.splits.items import split_items
from gossamer.data.splits.pair_ids import split_pair_ids
from gossamer.data.splits.random import split_random, split_rows
from gossamer.data.splits.time import split_global_time, split_user_time
from gossamer.data.splits.user_ids import split_user_ids
from gossamer.data.splits.users import split_users, split_users_fold, split_users_folds

__all__ = [
    "split_contents",
    "split_documents",
    "split_given",
    "split_global_time",
    "split_items",
    "split_pair_ids",
    "split_random",
    "split_rows",
    "split_user_ids",
    "split_user_time",
    "split_users",
    "split_users_fold",
    "split_users_folds",
]
