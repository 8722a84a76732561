from __future__ import annotations

from pathlib import Path

import pytest
from reading_samples import HEADER, as_rows, write

from gossamer.data import text_files
from gossamer.data.readers import read_interactions, read_table


def test_files_without_header(tmp_path: Path) -> None:
    path = write(tmp_path / "u.data", "1\t10\t3\t99\n2\t10\t4\t98\n")
    data = read_interactions(path, format="tsv", header=False)
    assert as_rows(data) == {(1, 10, 3.0, 99), (2, 10, 4.0, 98)}
    wide = write(tmp_path / "wide.csv", "1,2,3,4,5,6\n")
    assert read_table(wide, header=False).columns == ["user", "item", "rating", "time", "column_5", "column_6"]


def test_quotes_protect_separators_and_line_ends(tmp_path: Path) -> None:
    text = 'user,review,item\r\n"a,b","two\r\n\r\nlines",x\r\n\r\n"c""d",one,y\r\n,none,z\r\n'
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(ValueError, match=r"a.csv, line 7: user must be an id, got nothing"):
        read_interactions(path)
    path = write(tmp_path / "a.csv", text.replace("\r\n,none", "\r\ne,none"))
    assert as_rows(read_interactions(path)) == {("a,b", "x"), ('c"d', "y"), ("e", "z")}
    assert read_table(path)["review"].to_list() == ["two\r\n\r\nlines", "one", "none"]


def test_the_line_is_right_in_a_later_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
    path = write(tmp_path / "a.csv", "user,item,time\n" + "1,2,3\n" * 100 + "1,2,soon\n" + "1,2,3\n" * 100)
    with pytest.raises(ValueError, match=r"a.csv, line 102: time must be a time in seconds or a date .*, got 'soon'"):
        read_interactions(path)


BAD_FILES = {
    "empty file": ("a.csv", b"", "a.csv must have content, got an empty file"),
    "blank lines only": ("a.csv", b"\n\n\n", "a.csv must have content, got nothing but blank lines"),
    "no rows": ("a.csv", HEADER, "a.csv must have at least one interaction, got none"),
    "no header": ("a.csv", "1,2,3,4\n", "got the columns '1', '2', '3', '4'.*header=False"),
    "repeated column": ("a.csv", "user,user,item\n1,2,3\n", "a.csv must name each column once, got 'user'"),
    "NaN rating": ("a.csv", HEADER + "1,2,nan,4\n", "a.csv, line 2: rating must be a finite number, got 'nan'"),
    "infinite rating": ("a.csv", HEADER + "1,2,inf,4\n", "line 2: rating must be a finite number, got 'inf'"),
    "huge rating": ("a.csv", HEADER + "1,2,1e99,4\n", "line 2: rating must be a finite number, got '1e99'"),
    "empty rating": ("a.csv", HEADER + "1,2,3,4\n1,3,,4\n", "line 3: rating must be a finite number, got nothing"),
    "word as rating": ("a.csv", HEADER + "1,2,good,4\n", "line 2: rating must be a finite number, got 'good'"),
    "word as time": ("a.csv", HEADER + "1,2,3,now\n", "line 2: time must be a time in seconds.*got 'now'"),
    "infinite time": ("a.csv", HEADER + "1,2,3,inf\n", "line 2: time must be a time in seconds.*got 'inf'"),
    "empty user": ("a.csv", HEADER + ",2,3,4\n", "line 2: user must be an id, got nothing"),
    "quoted empty item": ("a.csv", HEADER + '1,"",3,4\n', "line 2: item must be an id, got nothing"),
    "too few fields": (
        "a.csv",
        HEADER + "1,2,3,4\n1,2,3\n",
        r"line 3 must have 4 fields \(user, item, rating, time\), got 3",
    ),
    "too many fields": ("a.csv", HEADER + "1,2,3,4\n\n1,2,3,4,5\n", "line 4 must have 4 fields .*, got 5"),
    "open quote": ("a.csv", HEADER + '1,"2,3,4\n1,2,3,4\n', "a.csv, line 2 must be a well-formed record, got"),
    "text behind a quote": ("a.csv", HEADER + '1,"2"x,3,4\n', "a.csv, line 2 must be a well-formed record, got"),
    "invalid UTF-8": (
        "a.csv",
        HEADER.encode() + b"1,2,3,4\n1,\xff,3,4\n",
        "line 3 must be UTF-8 text, got the byte 0xff",
    ),
    "NUL byte": ("a.csv", HEADER.encode() + b"1,\x00,3,4\n", "line 2 must be text, got a NUL byte"),
    "UTF-16": ("a.csv", HEADER.encode("utf-16"), "line 1 must be (UTF-8 )?text"),
    "single separator in .dat": ("a.dat", "1:2:3:4\n", "must have a column of item ids"),
    "control character in .dat": ("a.dat", "1::2::\x1f3::4\n", "got the control character 0x1f"),
    "no gzip": ("a.csv.gz", None, "a.csv.gz must be a complete gzip file, got a damaged or truncated one"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_get_one_sentence(tmp_path: Path, case: str) -> None:
    name, content, message = BAD_FILES[case]
    path = tmp_path / name
    if content is None:
        path.write_bytes(b"plain text")
    else:
        write(path, content)
    with pytest.raises(ValueError, match=message):
        read_interactions(path)
