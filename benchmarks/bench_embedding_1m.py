"""What does a table of 1 million vectors cost in training and in lookup? See embedding_tables.py."""

from __future__ import annotations

from embedding_tables import run

if __name__ == "__main__":
    run("embedding-1m", 1_000_000)
