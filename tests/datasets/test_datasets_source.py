from __future__ import annotations

import gzip
import hashlib
import lzma
import urllib.request
import zipfile

import pytest

from gossamer.datasets.source import Download, Source, check_count, read_compressed

LOCAL_OPEN = urllib.request.urlopen
ZIP = Download("https://example.org/toy.zip", None, ("a.txt", "b.txt"))
TWO_FILES = Source("toy", (("a.txt", "b.txt"), ("whole.txt",)), (ZIP,))


def test_files_are_found_plain_or_compressed_in_data_before_cache(folders, put):
    assert TWO_FILES.find() is None
    cached = folders / "cache" / "toy"
    cached.mkdir(parents=True)
    (cached / "whole.txt").write_text("cached")
    assert TWO_FILES.find().directory == cached
    put("toy/a.txt", "plain")
    put("toy/b.txt.gz", gzip.compress(b"packed"))
    found = TWO_FILES.find()
    assert found.directory == folders / "data" / "toy"
    assert (found.read("a.txt"), found.read_text("b.txt")) == (b"plain", "packed")
    assert "whole.txt" not in found
    assert found.optional_path("b.txt").name == "b.txt.gz"
    assert found.optional_path("c.txt") is None


def test_offline_one_message_says_what_to_put_where_and_from_which_address(folders):
    with pytest.raises(FileNotFoundError) as raised:
        TWO_FILES.obtain()
    message = str(raised.value)
    for part in (
        "toy must be on this machine",
        "a.txt, b.txt or whole.txt (plain or .gz)",
        str(folders / "data" / "toy"),
        str(folders / "cache" / "toy"),
        "https://example.org/toy.zip",
        "toy.zip itself may lie there too",
        "no network in tests",
    ):
        assert part in message
    assert "\n" not in message


def test_without_a_data_directory_the_message_names_the_variable(folders, monkeypatch):
    monkeypatch.delenv("GOSSAMER_DATA")
    with pytest.raises(FileNotFoundError, match=r"\$GOSSAMER_DATA names, in toy/"):
        Source("toy", (("a.txt",),)).obtain()


def test_downloads_are_unpacked_into_the_cache(folders, tmp_path, monkeypatch):
    archive = tmp_path / "toy.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("toy/a.txt", "1")
        packed.writestr("toy/b.txt", "2")
    monkeypatch.setattr(urllib.request, "urlopen", LOCAL_OPEN)
    md5 = hashlib.md5(archive.read_bytes()).hexdigest()
    source = Source("toy", (("a.txt", "b.txt"),), (Download(archive.as_uri(), f"md5:{md5}", ("a.txt", "b.txt")),))
    assert source.obtain().read("b.txt") == b"2"
    assert sorted(path.name for path in (folders / "cache" / "toy").iterdir()) == ["a.txt", "b.txt"]
    wrong = Source("other", (("a.txt",),), (Download(archive.as_uri(), "md5:0", ("a.txt",)),))
    with pytest.raises(ValueError, match="must have md5 0, got"):
        wrong.obtain()
    assert not list((folders / "cache" / "other").iterdir())


@pytest.mark.parametrize("place", ["toy.zip", "toy/toy.zip"])
def test_an_archive_the_user_brought_is_verified_unpacked_and_kept(folders, put, place):
    with zipfile.ZipFile(folders / "made.zip", "w") as packed:
        packed.writestr("a.txt", "1")
        packed.writestr("b.txt", "2")
    brought = put(place, (folders / "made.zip").read_bytes())
    assert TWO_FILES.obtain().read("a.txt") == b"1"
    assert brought.exists()


def test_a_wrong_archive_is_refused_wherever_it_lies(folders, put):
    put("toy.zip", b"another file")
    checked = Source("toy", TWO_FILES.layouts, (Download(ZIP.url, "md5:0", ZIP.members),))
    with pytest.raises(ValueError, match=r"toy\.zip must have md5 0, got"):
        checked.obtain()


def test_a_plain_download_keeps_its_name(folders, tmp_path, monkeypatch):
    (tmp_path / "train.csv").write_text("1,2")
    monkeypatch.setattr(urllib.request, "urlopen", LOCAL_OPEN)
    address = (tmp_path / "train.csv").as_uri()
    assert Source("toy", (("train.csv",),), (Download(address),)).obtain().read("train.csv") == b"1,2"
    assert Source("toy2", (("x.csv",),), (Download(address, saved_as="x.csv"),)).obtain().read("x.csv") == b"1,2"


def test_known_content_is_verified_before_use(put):
    path = put("toy/a.txt", "altered")
    source = Source("toy", (("a.txt",),), content_md5={"a.txt": hashlib.md5(b"right").hexdigest()})
    with pytest.raises(ValueError, match=r"a\.txt must have the content with md5 .*, got .*; fetch it again"):
        source.obtain().checked_path("a.txt")
    path.write_text("right")
    assert source.obtain().checked_path("a.txt") == path


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_damaged_compression_is_named(tmp_path, ending, pack):
    path = tmp_path / f"file{ending}"
    path.write_bytes(pack(b"text" * 100))
    assert read_compressed(path) == b"text" * 100
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=f"must be a whole {ending} file, got a damaged one"):
        read_compressed(path)


def test_text_that_is_no_text_is_named(put):
    put("toy/a.txt", b"\xff\xfe")
    with pytest.raises(ValueError, match=r"a\.txt must be utf-8 text, got"):
        Source("toy", (("a.txt",),)).obtain().read_text("a.txt")


def test_other_folders_are_searched_where_their_variable_is_set(folders, monkeypatch):
    source = Source("toy", (("a.txt",),), other_folders=("$TOY_HOME/dict", "/nowhere"))
    assert [path.name for path in source.directories()] == ["toy", "toy", "nowhere"]
    monkeypatch.setenv("TOY_HOME", str(folders))
    assert source.directories()[2] == folders / "dict"


def test_counts_are_compared(tmp_path):
    check_count("rows", 3, 3, tmp_path)
    with pytest.raises(ValueError, match="must hold 3,000 rows, got 2; the copy is incomplete or altered"):
        check_count("rows", 2, 3000, tmp_path)
