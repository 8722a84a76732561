from __future__ import annotations

import pytest

from gossamer import datasets

NOUNS = """  1 This is the licence.
00000010 03 n 02 stock 0 inventory 0 002 @ 00000020 n 0000 + 00000030 v 0101 | goods on hand
00000020 03 n 01 merchandise 0 001 ~ 00000010 n 0000 | commodities
"""
VERBS = "00000030 40 v 01 stock 2 001 + 00000010 n 0101 01 + 08 00 | have on hand\n"
ADJECTIVES = """00000040 00 a 02 good 0 well(p) 0 001 ! 00000050 a 0101 | fine
00000050 00 a 01 bad 0 001 ! 00000040 a 0101 | poor
00000060 00 s 01 Galore(ip) 0 000 | in abundance
"""


@pytest.fixture
def dictionary(put):
    put("wordnet/data.noun", NOUNS)
    put("wordnet/data.verb", VERBS)
    put("wordnet/data.adj", ADJECTIVES)
    put("wordnet/data.adv", "")
    return put


def test_relations_become_an_edge_list(dictionary):
    edges = datasets.load("wordnet").rows()
    assert set(edges) == {
        ("stock", "synonym", "inventory", "noun"),
        ("inventory", "synonym", "stock", "noun"),
        ("stock", "hypernym", "merchandise", "noun"),
        ("inventory", "hypernym", "merchandise", "noun"),
        ("merchandise", "hyponym", "stock", "noun"),
        ("merchandise", "hyponym", "inventory", "noun"),
        ("good", "synonym", "well", "adj"),
        ("well", "synonym", "good", "adj"),
        ("good", "antonym", "bad", "adj"),
        ("bad", "antonym", "good", "adj"),
    }
    assert len(edges) == 10


def test_relations_can_be_chosen(dictionary):
    assert datasets.load("wordnet", relations=["antonym"]).height == 2
    with pytest.raises(ValueError, match=r"relations must be one of 'hypernym', .*, got 'meronym'"):
        datasets.load("wordnet", relations=["meronym"])


def test_damaged_lines_and_dangling_pointers_are_named(dictionary):
    dictionary("wordnet/data.adv", "00000070 02 r zz\n")
    with pytest.raises(ValueError, match=r"data\.adv, line 1 must be a WordNet synset, got '00000070 02 r zz'"):
        datasets.load("wordnet")
    dictionary("wordnet/data.adv", "00000070 02 r 01 well 0 001 ! 00000099 r 0101 | fine\n")
    with pytest.raises(ValueError, match=r"wordnet must have the synset \('adv', 99\)"):
        datasets.load("wordnet")


def test_its_own_variable_and_the_debian_package_are_known(folders, monkeypatch):
    if datasets.locate("wordnet") is None:
        with pytest.raises(FileNotFoundError, match="apt-get install wordnet-base"):
            datasets.load("wordnet")
    home = folders / "WordNet-3.0"
    (home / "dict").mkdir(parents=True)
    for name, content in {"noun": NOUNS, "verb": VERBS, "adj": ADJECTIVES, "adv": ""}.items():
        (home / "dict" / f"data.{name}").write_text(content)
    monkeypatch.setenv("WNHOME", str(home))
    assert datasets.locate("wordnet") == home / "dict"


@pytest.mark.data
def test_real_wordnet():
    if datasets.locate("wordnet") is None:
        pytest.skip("no WordNet on this machine; apt-get install wordnet-base")
    edges = datasets.load("wordnet", relations=["hypernym"])
    assert {("stock", "hypernym", "capital", "noun"), ("stock", "hypernym", "merchandise", "noun")} <= set(edges.rows())
