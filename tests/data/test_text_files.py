from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from reading_samples import HEADER, write

from gossamer.data import text_files
from gossamer.data.readers import read_interactions, read_lines
from gossamer.data.text_files import read_blocks


def test_lines_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\n\ntwo")
    assert list(read_lines(path)) == [(1, "one"), (2, ""), (3, "two")]
    path.write_bytes(b"one\ntw\xe9\n")
    assert list(read_lines(path, encoding="latin-1")) == [(1, "one"), (2, "twé")]
    with pytest.raises(ValueError, match=r"a.txt, line 2 must be UTF-8 text, got the byte 0xe9"):
        list(read_lines(path))


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.csv must be an existing file, got none"):
        read_interactions(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="must be a file, got a directory"):
        read_interactions(tmp_path)


def test_truncated_gzip(tmp_path: Path) -> None:
    text = HEADER + "".join(f"{n},{n},3,4\n" for n in range(500))
    whole = gzip.compress(text.encode())
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"a.csv.gz must be a complete gzip file, got a damaged or truncated one"):
        read_interactions(tmp_path / "a.csv.gz")


def test_blocks_end_where_records_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 8)
    path = write(tmp_path / "a.csv", 'a,"1\n2\n3\n4",b\nlast')
    assert list(read_blocks(path, quoted=True)) == [(1, b'a,"1\n2\n3\n4",b\n'), (5, b"last")]
    assert b"".join(block for _, block in read_blocks(path)) == path.read_bytes()


def test_endless_records_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 8)
    monkeypatch.setattr(text_files, "LONGEST_RECORD_BYTES", 32)
    with pytest.raises(ValueError, match=r"a.csv, line 2 must be shorter than .* got more; is a quote left open"):
        list(read_blocks(write(tmp_path / "a.csv", "ok\n" + '"' + "x\n" * 40), quoted=True))
