"""DBpedia: abstracts of encyclopedia articles in fourteen classes of its ontology."""

from __future__ import annotations

from gossamer.data import Counts, Sentences
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.labelled_texts import MAX_WORDS, LabelledTexts, in_form, numbered_labels
from gossamer.datasets.source import Download, Source, check_count

FILE = "dbpedia_14000_1000perclass.csv"
NUM_ABSTRACTS = 14_000
CLASSES = tuple(f"class {number}" for number in range(14))  # the file numbers its classes and does not name them
# No checksum is published: lines are counted.
SOURCE = Source(
    "dbpedia",
    ((FILE,),),
    (
        Download(
            "https://raw.githubusercontent.com/KEAML-JLU/DeepTextClustering/HEAD/data/dbpedia/train.csv",
            saved_as=FILE,
        ),
    ),
)


def load_dbpedia(
    *, form: str = "sentences", max_words: int | None = MAX_WORDS, min_count: int = 1
) -> Sentences | Counts | LabelledTexts:
    """Return 14,000 abstracts, 1,000 per class; `form` is "sentences", "counts" or "texts". There is no split.

    Sentences keep the `max_words` most frequent words (None: all) that occur at least `min_count` times.
    """
    files = SOURCE.obtain()
    # Not a CSV in the strict sense: texts contain bare commas and quotes, only the first comma separates.
    lines = [line.partition(",") for line in files.read_text(FILE).split("\n") if line]
    check_count("abstracts", len(lines), NUM_ABSTRACTS, files.paths[FILE])
    try:
        numbers = [int(number) for number, _, _ in lines]
    except ValueError:
        raise ValueError(f"{files.paths[FILE]} must have lines of class,text, got others") from None
    labels = numbered_labels(numbers, 0, CLASSES, files.paths[FILE])
    texts = LabelledTexts(tuple(text for _, _, text in lines), labels, CLASSES)
    return in_form(form, texts, texts, max_words=max_words, min_count=min_count)


DATASETS = {
    "dbpedia": Dataset(
        DatasetInfo(
            title="DBpedia: abstracts in fourteen classes",
            kind="Sentences, Counts with form='counts', LabelledTexts with form='texts'",
            size="14,000 abstracts, 14 classes",
            licence="CC BY-SA (DBpedia text)",
            homepage="https://github.com/KEAML-JLU/DeepTextClustering",
            citation="Lehmann et al., DBpedia, Semantic Web 6(2), 2015",
        ),
        load_dbpedia,
        SOURCE,
    )
}
