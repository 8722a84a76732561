"""Text classifiers and language models over compressed tables of words."""
