from __future__ import annotations

import io
import tarfile
import zipfile

import pytest

from gossamer.datasets.archive import extract_members


def make_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def add(archive, name, content, kind=tarfile.REGTYPE, target=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), kind, target
    archive.addfile(info, io.BytesIO(content))


def test_wanted_files_come_out_of_a_zip_with_or_without_a_folder(tmp_path):
    archive = make_zip(tmp_path / "a.zip", {"ml/ratings.dat": "1", "users.dat": "2", "ml/other": "3"})
    extract_members(archive, ["ratings.dat", "users.dat"], tmp_path / "out")
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {
        "ratings.dat": "1",
        "users.dat": "2",
    }


@pytest.mark.parametrize("name", ["../ratings.dat", "/ratings.dat", "a/../../ratings.dat", "a/b/ratings.dat"])
def test_a_hostile_zip_writes_nothing_anywhere(tmp_path, name):
    archive = make_zip(tmp_path / "a.zip", {name: "evil"})
    with pytest.raises(ValueError, match=r"a\.zip must contain ratings\.dat, got an archive without it"):
        extract_members(archive, ["ratings.dat"], tmp_path / "deep" / "out")
    assert [path.name for path in tmp_path.rglob("*")] == ["a.zip"]


def test_tar_links_and_devices_are_not_files(tmp_path):
    path = tmp_path / "a.tar.gz"
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with tarfile.open(path, "w:gz") as archive:
        add(archive, "d/batch.bin", b"", tarfile.SYMTYPE, str(secret))
        add(archive, "d/good.bin", b"good")
    with pytest.raises(ValueError, match=r"must contain batch\.bin"):
        extract_members(path, ["batch.bin"], tmp_path / "out")
    extract_members(path, ["good.bin"], tmp_path / "out")
    assert (tmp_path / "out" / "good.bin").read_bytes() == b"good"


def test_damaged_archives_are_named(tmp_path):
    whole = make_zip(tmp_path / "a.zip", {"x": "y" * 1000}).read_bytes()
    for content in (b"", b"no archive", whole[: len(whole) // 2], whole.replace(b"yyyy", b"yyyz")):
        path = tmp_path / "damaged.zip"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"damaged\.zip must be a whole zip or tar archive, got a damaged one"):
            extract_members(path, ["x"], tmp_path / "out")
    assert not (tmp_path / "out" / "x").exists()
