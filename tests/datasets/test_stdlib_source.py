from __future__ import annotations

import gzip
import json

import pytest

from gossamer.datasets import stdlib_source
from gossamer.datasets.stdlib_source import load_stdlib_source, source_files


@pytest.fixture
def library(folders, monkeypatch):
    """A small standard library with everything that must be left out."""
    root = folders / "lib"
    files = {
        "os.py": '"""Operating."""\nimport sys\ndef f():\n    return len(sys.argv)\n',
        "json/__init__.py": "from .decoder import decode\ndecode()\n",
        "json/decoder.py": "def decode():\n    '''Decode.'''\n    print(str(1))\n",
        "broken.py": "def",
        "escapes.py": "x = '\\d'\nprint(x)\n",
        "site-packages/other.py": "print()",
        "config-3.11/made.py": "print()",
        "lib2to3/tests/data/py2.py": "print()",
        "README": "no code",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(stdlib_source, "library_directory", lambda: root)
    return root


def cached(folders):
    return sorted((folders / "cache").glob("*"))


def test_modules_names_calls_and_docstrings_are_read(library):
    source = load_stdlib_source()
    assert source.modules == ["escapes", "json", "json.decoder", "os"]
    assert sorted(source.names) == ["json.decoder.decode", "len", "print", "str", "sys.argv"]
    named = [(function, [source.names[name] for name in called]) for function, called in source.calls]
    assert named == [("json.decoder.decode", ["str", "print"]), ("os.f", ["len"])]
    assert [(owner, source.modules[module], text) for owner, module, text in source.docstrings] == [
        ("json.decoder.decode", "json.decoder", "Decode."),
        ("os", "os", "Operating."),
    ]


def test_a_second_load_comes_from_the_cache_and_is_the_same(library, folders, monkeypatch):
    first = load_stdlib_source()
    assert len(cached(folders)) == 1
    monkeypatch.setattr(stdlib_source, "parse_library", lambda *_: pytest.fail("parsed again"))
    again = load_stdlib_source()
    assert json.dumps(vars(first)) == json.dumps(vars(again))


def test_another_library_never_meets_the_old_cache(library, folders):
    load_stdlib_source()
    (library / "new.py").write_text("print()")
    assert "new" in load_stdlib_source().modules
    assert len(cached(folders)) == 2


# Named, because a gzip header holds the time: two test processes that collect a second apart would not agree on names.
DAMAGED = {
    "empty": b"",
    "no gzip": b"rubbish",
    "no modules": gzip.compress(b"{}"),
    "a list": gzip.compress(b"[1]"),
    "truncated": gzip.compress(b"{")[:-3],
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_cache_is_parsed_again(library, folders, content, caplog):
    whole = load_stdlib_source()
    (path,) = cached(folders)
    path.write_bytes(content)
    assert load_stdlib_source().modules == whole.modules
    assert "is not readable" in caplog.text
    assert len(path.read_bytes()) > len(content)


def test_a_cache_that_cannot_be_written_is_no_fault(library, folders):
    (folders / "cache").write_text("a file where the directory should be")
    assert load_stdlib_source().modules


def test_an_interpreter_without_sources_says_so(folders, monkeypatch):
    monkeypatch.setattr(stdlib_source, "library_directory", lambda: folders / "python311.zip")
    with pytest.raises(FileNotFoundError, match="source files of Python's standard library must lie in"):
        load_stdlib_source()


def test_files_come_in_a_fixed_order(library):
    names = [path.relative_to(library).as_posix() for path in source_files(library)]
    assert names == ["broken.py", "escapes.py", "json/__init__.py", "json/decoder.py", "os.py"]
