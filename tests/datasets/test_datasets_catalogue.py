from __future__ import annotations

import os
import re

import pytest

from gossamer import datasets
from gossamer.datasets import catalogue

PUBLIC = [name for name, dataset in catalogue._DATASETS.items() if dataset.source is not None]


def test_every_set_of_the_plan_is_there_and_described():
    known = datasets.available()
    wanted = """
        stdlib-usage stdlib-docs stdlib-calls ml-100k ml-1m ml-20m ml-25m ml-32m gowalla 20news 20news-raw ag_news
        dbpedia hsvae-dbpedia hsvae-yahoo ptb mnist cifar10 birds emotions cal500 glove wordnet cifar10-resnet20
    """
    assert set(wanted.split()) <= set(known)
    for info in known.values():
        assert all(vars(info).values())
        assert re.match("https?://", info.homepage)


def test_all_downloads_are_encrypted_and_checksums_well_formed():
    for name in PUBLIC:
        for download in catalogue._DATASETS[name].source.downloads:
            assert download.url.startswith("https://")
            assert download.checksum is None or re.fullmatch(r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}", download.checksum)


@pytest.mark.parametrize("name", PUBLIC)
def test_offline_every_set_says_what_to_put_where(folders, name):
    if name == "wordnet" and datasets.locate(name) is not None:
        pytest.skip("this machine has WordNet where Debian puts it")
    assert datasets.locate(name) is None
    with pytest.raises(FileNotFoundError) as raised:
        datasets.load(name)
    message = str(raised.value)
    assert str(folders / "data") in message
    assert "https://" in message
    assert "\n" not in message


def test_an_unknown_name_lists_near_ones():
    with pytest.raises(ValueError, match=r"got 'ml1m'; did you mean 'ml-1m'.*known are stdlib-usage"):
        datasets.load("ml1m")
    with pytest.raises(ValueError, match="name must be a known data set, got 'zzzzzz'; known are"):
        datasets.locate("zzzzzz")


def test_an_unknown_option_lists_the_known_ones():
    with pytest.raises(ValueError, match="options of 'mnist' must be among: part, got 'parts'"):
        datasets.load("mnist", parts="test")
    with pytest.raises(ValueError, match="options of 'ml-1m' must be among: none, got 'part'"):
        datasets.load("ml-1m", part="test")


@pytest.mark.parametrize("name", ["mnist", "ptb", "gowalla", "20news", "20news-raw", "ag_news", "cifar10", "birds"])
def test_a_wrong_part_is_named_before_anything_is_read(folders, name):
    with pytest.raises(ValueError, match=r"part must be one of .*'test'.*, got 'validation'"):
        datasets.load(name, part="validation")


def test_built_in_data_lies_in_the_interpreter():
    assert (datasets.locate("stdlib-usage") / "os.py").is_file()


@pytest.mark.data
def test_data_that_is_there_is_located():
    assert str(datasets.locate("ml-1m")).startswith(os.environ["GOSSAMER_DATA"])
