"""The command line: one file per verb; each imports torch and its friends only when it runs, so that help is quick."""
