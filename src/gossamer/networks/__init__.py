"""Plain networks that methods act on: each takes its embeddings as modules and knows nothing of how they are stored."""
