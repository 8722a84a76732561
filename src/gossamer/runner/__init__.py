"""From an experiment file to data, a fitted model, metrics and one result record."""
