"""AG-News: news in four classes."""

from __future__ import annotations

import csv
import io

from gossamer.core.checks import check_choice
from gossamer.data import Counts, Sentences
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.labelled_texts import MAX_WORDS, LabelledTexts, in_form, numbered_labels
from gossamer.datasets.source import Download, Files, Source, check_count

ADDRESS = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/HEAD/data/ag_news_csv"
CLASSES = ("World", "Sports", "Business", "Sci/Tech")
SIZES = {"train.csv": 120_000, "test.csv": 7_600, "train_20k.csv": 20_000, "train_extra.csv": 24_356}
# No checksum is published: lines are counted. The second layout is a part of the training set that circulates.
SOURCE = Source(
    "ag_news",
    (("train.csv", "test.csv"), ("train_20k.csv", "train_extra.csv", "test.csv")),
    (Download(f"{ADDRESS}/train.csv"), Download(f"{ADDRESS}/test.csv")),
)


def load_ag_news(
    *, part: str = "train", form: str = "sentences", max_words: int | None = MAX_WORDS, min_count: int = 1
) -> Sentences | Counts | LabelledTexts:
    """Return title and description of each article, with its class.

    `part` is "train" or "test"; `form` is "sentences", "counts" or "texts". Sentences keep the `max_words` most
    frequent words (None: all) that occur at least `min_count` times in training. Where only a part of the 120,000
    training articles is on the machine (44,356), that part is the training set.
    """
    check_choice("part", part, ["train", "test"])
    files = SOURCE.obtain()
    names = ["train.csv"] if "train.csv" in files else ["train_20k.csv", "train_extra.csv"]
    train = _articles(files, names)
    wanted = train if part == "train" else _articles(files, ["test.csv"])
    return in_form(form, wanted, train, max_words=max_words, min_count=min_count)


def _articles(files: Files, names: list[str]) -> LabelledTexts:
    classes: list[int] = []
    texts: list[str] = []
    for name in names:
        rows = list(csv.reader(io.StringIO(files.read_text(name), newline="")))
        check_count("articles", len(rows), SIZES[name], files.paths[name])
        try:
            classes += [int(row[0]) for row in rows]
            texts += [f"{row[1]} {row[2]}".strip() for row in rows]
        except (ValueError, IndexError):
            raise ValueError(f"{files.paths[name]} must have lines of class, title, description, got others") from None
    labels = numbered_labels(classes, 1, CLASSES, files.directory)
    return LabelledTexts(tuple(texts), labels, CLASSES)


DATASETS = {
    "ag_news": Dataset(
        DatasetInfo(
            title="AG-News: news articles in four classes",
            kind="Sentences, Counts with form='counts', LabelledTexts with form='texts'",
            size="120,000 train and 7,600 test articles, 4 classes",
            licence="research, non-commercial",
            homepage="http://groups.di.unipi.it/~gulli/AG_corpus_of_news_articles.html",
            citation="Zhang, Zhao and LeCun, Character-level Convolutional Networks, NeurIPS 2015",
        ),
        load_ag_news,
        SOURCE,
        parts=("train", "test"),
    )
}
