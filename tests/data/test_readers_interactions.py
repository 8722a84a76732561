from __future__ import annotations

import gzip
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from gossamer.data import Interactions, Vocabulary, tables_memory, text_files
from gossamer.data.readers import read_interactions, read_table

ROWS = [("ann", "tea", 5.0, 30), ("bob", "jam", 3.5, 10), ("ann", "jam", 1.0, 20)]
FRAME = pl.DataFrame(ROWS, schema=["user_id", "item_id", "rating", "timestamp"], orient="row")


def as_rows(data: Interactions) -> set[tuple[Any, ...]]:
    users, items = data.pairs()
    values = [column for column in (data.rating, data.time) if column is not None]
    return {
        (data.users[u], data.items[i], *(column[n].item() for column in values))
        for n, (u, i) in enumerate(zip(users, items, strict=True))
    }


def write(path: Path, text: str | bytes) -> Path:
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "tsv.gz", "dat", "dat.gz", "inter", "inter.gz", "parquet"])
def test_every_format_gives_the_same_interactions(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"ratings.{ending}"
    kind = ending.removesuffix(".gz")
    if kind == "parquet":
        FRAME.write_parquet(path)
    else:
        separator = {"csv": ",", "dat": "::"}.get(kind, "\t")
        header = {
            "dat": [],
            "inter": [["user_id:token", "item_id:token", "rating:float", "timestamp:float"]],
        }.get(kind, [FRAME.columns])
        write(path, "".join(separator.join(map(str, row)) + "\n" for row in [*header, *ROWS]))
    data = read_interactions(path)
    assert as_rows(data) == set(ROWS)
    assert list(data.users) == ["ann", "bob"], "ids keep the order of their first appearance"
    assert list(data.items) == ["tea", "jam"]


def test_tables_in_memory() -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    arrow = pyarrow.table({name: FRAME[name].to_list() for name in FRAME.columns})
    frame = pandas.DataFrame(ROWS, columns=FRAME.columns, index=[7, 8, 9])
    reader = pyarrow.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches())
    for table in (FRAME, FRAME.lazy(), arrow, reader, frame):
        assert as_rows(read_interactions(table)) == set(ROWS)


def test_pandas_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")

    def refuse(self: object, requested_schema: object = None) -> object:
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pandas.DataFrame, "__arrow_c_stream__", refuse)
    frame = pandas.DataFrame(ROWS, columns=FRAME.columns)
    frame["odd"] = [object(), {}, 3]
    assert as_rows(read_interactions(frame)) == set(ROWS)
    frame["timestamp"] = pandas.to_datetime(frame["timestamp"], unit="s").dt.tz_localize("UTC")
    frame["user_id"] = frame["user_id"].astype("category")
    frame["rating"] = frame["rating"].astype("Float64")
    assert as_rows(read_interactions(frame)) == set(ROWS)
    frame.loc[1, "user_id"] = None
    with pytest.raises(ValueError, match=r"table, row 1 \(counted from 0\): user_id must be an id, got nothing"):
        read_interactions(frame)
    frame["item_id"] = [1, "a", 2]
    with pytest.raises(ValueError, match="table must have one type in column 'item_id'"):
        read_interactions(frame)


def test_pandas_with_mixed_types_and_pyarrow() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="table must have one type in each column"):
        read_interactions(pandas.DataFrame({"user": [1, "a"], "item": [1, 2]}))


def test_other_objects_are_refused() -> None:
    with pytest.raises(ValueError, match=r"source must be a path or a polars, pandas or Arrow table, got builtins.int"):
        read_interactions(3)


def test_columns_are_mapped_by_name_position_or_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", "when,who,what,how\n1,ann,tea,2\n2,bob,jam,3\n")
    data = read_interactions(path, columns={"user": "who", "item": 2, "rating": "how", "time": "when"})
    assert as_rows(data) == {("ann", "tea", 2.0, 1), ("bob", "jam", 3.0, 2)}
    assert read_interactions(FRAME, columns={"rating": None, "time": None}).rating is None
    with pytest.raises(
        ValueError, match=r"log.csv must have a column of user ids, got the columns 'when', 'who', 'what'"
    ):
        read_interactions(path)
    with pytest.raises(
        ValueError, match=r"columns\['user'\] must be a column of .*log.csv, got 'nobody'; it has 'when'"
    ):
        read_interactions(path, columns={"user": "nobody"})
    with pytest.raises(ValueError, match="columns must map user, item, rating, time, got the key 'weight'"):
        read_interactions(path, columns={"weight": "how"})
    with pytest.raises(ValueError, match="columns must name a different column for each role"):
        read_interactions(path, columns={"user": "who", "item": "who"})


def test_usual_names_in_any_spelling() -> None:
    for user, item in [("userId", "movieId"), ("User-ID", "ISBN"), ("uid", "Item ID")]:
        columns = {"item": item} if item == "ISBN" else None
        assert read_interactions(pl.DataFrame({user: [1], item: [2]}), columns=columns).shape == (1, 1)


def test_files_without_header(tmp_path: Path) -> None:
    path = write(tmp_path / "u.data", "1\t10\t3\t99\n2\t10\t4\t98\n")
    data = read_interactions(path, format="tsv", header=False)
    assert as_rows(data) == {(1, 10, 3.0, 99), (2, 10, 4.0, 98)}
    wide = write(tmp_path / "wide.csv", "1,2,3,4,5,6\n")
    assert read_table(wide, header=False).columns == ["user", "item", "rating", "time", "column_5", "column_6"]


def test_adjacency_lists(tmp_path: Path) -> None:
    path = write(tmp_path / "train.txt", "0 5 7\n1\n2 7\n\n3 5\n")
    data = read_interactions(path, format="adjacency")
    assert as_rows(data) == {(0, 5), (0, 7), (2, 7), (3, 5)}
    known = Vocabulary([5])
    with pytest.raises(ValueError, match=r"train.txt, line 1: item must be one of the 1 known item ids, got '7'"):
        read_interactions(path, format="adjacency", item_ids=known)
    with pytest.raises(ValueError, match=r"train.txt must end in .csv"):
        read_interactions(path)


def test_ids_of_a_text_become_integers_only_where_nothing_is_lost(tmp_path: Path) -> None:
    data = read_interactions(write(tmp_path / "a.csv", "user,item\n7,007\n8,7\n"))
    assert list(data.users) == [7, 8]
    assert list(data.items) == ["007", "7"]


def test_given_vocabularies_fix_order_and_size(tmp_path: Path) -> None:
    users, items = Vocabulary([3, 1, 2]), Vocabulary([9, 8])
    data = read_interactions(write(tmp_path / "a.csv", "user,item\n1,8\n"), user_ids=users, item_ids=items)
    assert data.users is users
    assert data.indptr.tolist() == [0, 0, 1, 1]
    assert data.indices.tolist() == [1]


def test_duplicates_follow_the_rule() -> None:
    table = pl.DataFrame({"user": [1, 1], "item": [2, 2], "rating": [3.0, 4.0]})
    assert [read_interactions(table, duplicates=rule).rating.tolist() for rule in ("first", "last", "sum")] == [
        [3.0],
        [4.0],
        [7.0],
    ]
    assert read_interactions(table.drop("rating"), duplicates="sum").rating.tolist() == [2.0]
    with pytest.raises(ValueError, match="must not repeat"):
        read_interactions(table, duplicates="error")
    with pytest.raises(ValueError, match="duplicates must be one of"):
        read_interactions(table, duplicates="mean")


def test_times_are_whole_seconds(tmp_path: Path) -> None:
    moment = datetime(2009, 2, 13, 23, 31, 30, tzinfo=UTC)
    for values in ([1234567890], [1234567890.9], [moment], [moment.replace(tzinfo=None)]):
        data = read_interactions(pl.DataFrame({"user": [1], "item": [1], "time": values}))
        assert data.time.tolist() == [1234567890]
    assert read_interactions(pl.DataFrame({"user": [1], "item": [1], "date": [date(1970, 1, 2)]})).time.tolist() == [
        86400
    ]
    texts = ["1234567890", "1234567890.5", "2009-02-13 23:31:30", "2009-02-13T23:31:30Z", "2009-02-13T23:31:30.25"]
    body = "".join(f"1,{row},{text}\n" for row, text in enumerate([*texts, "1970-01-02"]))
    data = read_interactions(write(tmp_path / "a.csv", "user,item,time\n" + body))
    assert data.time.tolist() == [1234567890] * 5 + [86400]


def test_quotes_protect_separators_and_line_ends(tmp_path: Path) -> None:
    text = 'user,review,item\r\n"a,b","two\r\n\r\nlines",x\r\n\r\n"c""d",one,y\r\n,none,z\r\n'
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(ValueError, match=r"a.csv, line 7: user must be an id, got nothing"):
        read_interactions(path)
    path = write(tmp_path / "a.csv", text.replace("\r\n,none", "\r\ne,none"))
    assert as_rows(read_interactions(path)) == {("a,b", "x"), ('c"d', "y"), ("e", "z")}
    assert read_table(path)["review"].to_list() == ["two\r\n\r\nlines", "one", "none"]


def test_many_blocks_and_slices_give_what_one_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "user": [f"u{n}" for n in generator.integers(40, size=700)],
            "item": generator.integers(60, size=700),
            "rating": generator.integers(1, 6, size=700).astype(np.float64),
            "time": generator.integers(1000, size=700),
        }
    )
    table.write_csv(tmp_path / "a.csv", quote_style="always")
    table.write_parquet(tmp_path / "a.parquet", row_group_size=50)
    whole = Interactions.from_pairs(table["user"], table["item"], table["rating"], table["time"])
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 100)
    monkeypatch.setattr(tables_memory, "ROWS_PER_CHUNK", 33)
    for source in (tmp_path / "a.csv", tmp_path / "a.parquet", table):
        assert read_interactions(source).fingerprint() == whole.fingerprint()


def test_the_line_is_right_in_a_later_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
    path = write(tmp_path / "a.csv", "user,item,time\n" + "1,2,3\n" * 100 + "1,2,soon\n" + "1,2,3\n" * 100)
    with pytest.raises(ValueError, match=r"a.csv, line 102: time must be a time in seconds or a date .*, got 'soon'"):
        read_interactions(path)


HEADER = "user,item,rating,time\n"
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
    "open quote": ("a.csv", HEADER + '1,"2,3,4\n1,2,3,4\n', "a.csv must be well-formed, got: unexpected end of data"),
    "text behind a quote": ("a.csv", HEADER + '1,"2"x,3,4\n', "a.csv must be well-formed"),
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
    "no Parquet": ("a.parquet", b"user,item\n1,2\n" * 10, "a.parquet must be readable, got: .*is the file complete"),
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


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.csv must be an existing file, got none"):
        read_interactions(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="must be a file, got a directory"):
        read_interactions(tmp_path)


def test_truncated_files(tmp_path: Path) -> None:
    text = HEADER + "".join(f"{n},{n},3,4\n" for n in range(500))
    whole = gzip.compress(text.encode())
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"a.csv.gz must be a complete gzip file, got a damaged or truncated one"):
        read_interactions(tmp_path / "a.csv.gz")
    FRAME.write_parquet(tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"a.parquet must be readable"):
        read_interactions(tmp_path / "a.parquet")


def test_typed_columns_are_checked() -> None:
    def read(**columns: Any) -> Interactions:
        return read_interactions(pl.DataFrame({"user": [1, 2], "item": [1, 2], **columns}, strict=False))

    assert list(read(user=[1.0, 2.0]).users) == [1, 2], "what pandas makes of integers"
    assert list(read(user=pl.Series(["a", "b"], dtype=pl.Categorical)).users) == ["a", "b"]
    for columns, message in [
        ({"user": [1, None]}, "table, row 1 .*: user must be a 64-bit integer, got nothing"),
        ({"user": ["a", None]}, "table, row 1 .*: user must be an id, got nothing"),
        ({"user": [None, None]}, "table, row 0 .*: user must be an id, got nothing"),
        ({"user": [1.0, 2.5]}, "table, row 1 .*: user must be an id, got 2.5"),
        ({"user": [1.0, float("nan")]}, "row 1 .*: user must be an id, got nan"),
        ({"user": [True, False]}, "user must be strings or integers, got Boolean"),
        ({"user": pl.Series([1, 2**64 - 1], dtype=pl.UInt64)}, "row 1 .*: user must be a 64-bit integer"),
        ({"rating": [1.0, None]}, "row 1 .*: rating must be a finite number, got nothing"),
        ({"rating": [date(2020, 1, 1)] * 2}, "rating must be numbers, got Date"),
        ({"time": [1.0, float("nan")]}, "row 1 .*: time must be a time in seconds"),
        ({"time": [[1], [2]]}, "time must be seconds or dates, got List"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(**columns)


def test_a_file_that_changes_between_the_passes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = iter([pl.DataFrame({"user": [1], "item": [1]}), pl.DataFrame({"user": [1, 1], "item": [1, 1]})])
    original = tables_memory.FrameTable.chunks

    def chunks(self: tables_memory.FrameTable, columns: list[str]) -> Any:
        self._source = next(frames)
        return original(self, columns)

    monkeypatch.setattr(tables_memory.FrameTable, "chunks", chunks)
    with pytest.raises(ValueError, match="table must stay the same while it is read, got other rows"):
        read_interactions(FRAME.rename({"user_id": "user", "item_id": "item"}).select("user", "item"))


def test_options_are_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", HEADER + "1,2,3,4\n")
    with pytest.raises(ValueError, match="format must be one of 'csv'"):
        read_interactions(path, format="excel")
    with pytest.raises(ValueError, match="separator must be one ASCII character or '::', got 'ab'"):
        read_interactions(path, separator="ab")
    with pytest.raises(ValueError, match="encoding must be one of 'utf-8', 'latin-1', got 'utf-16'"):
        read_interactions(path, encoding="utf-16")
    with pytest.raises(ValueError, match=r"names must be 4 column names for .*a.csv, got"):
        read_table(path, names=["a"])


def test_feature_tables(tmp_path: Path) -> None:
    path = write(
        tmp_path / "movies.dat", "1::Am\xe9lie: the film (2001)::Comedy|Romance\n2::Heat::\n".encode("latin-1")
    )
    table = read_table(path, names=["id", "title", "genres"])
    assert table.rows() == [("1", "Amélie: the film (2001)", "Comedy|Romance"), ("2", "Heat", None)]
    piped = write(tmp_path / "u.user", "1|24|M\n")
    assert read_table(piped, format="csv", separator="|", names=["id", "age", "sex"]).rows() == [("1", "24", "M")]
