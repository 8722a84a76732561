"""The door to all readers: files and tables in, containers out."""

from gossamer.data.readers.arff import read_multilabel
from gossamer.data.readers.arrays import read_arrays
from gossamer.data.readers.counted_documents import read_counted_documents
from gossamer.data.readers.documents import read_documents
from gossamer.data.readers.interactions import read_interactions
from gossamer.data.readers.sequences import read_sequences
from gossamer.data.readers.text import read_counts, read_sentences, read_vocabulary
from gossamer.data.tables.opening import read_table
from gossamer.data.text import build_sentences, count_words, split_words
from gossamer.data.text_files import read_lines

__all__ = [
    "build_sentences",
    "count_words",
    "read_arrays",
    "read_counted_documents",
    "read_counts",
    "read_documents",
    "read_interactions",
    "read_lines",
    "read_multilabel",
    "read_sentences",
    "read_sequences",
    "read_table",
    "read_vocabulary",
    "split_words",
]
