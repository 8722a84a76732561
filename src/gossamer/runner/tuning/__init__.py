"""Search an estimator's settings: trials in a study that can be gone on with, chosen on validation data only."""
