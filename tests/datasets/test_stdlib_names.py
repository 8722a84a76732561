from __future__ import annotations

from textwrap import dedent

import pytest

from gossamer.datasets.stdlib_names import BUILTINS, read_names


def names_of(source, module="pkg.mod", **options):
    return read_names(dedent(source).encode(), module, **options)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os\nos.path.join('a')", ["os.path.join"]),
        ("import os.path as p\np.join('a')", ["os.path.join"]),
        ("import xml.dom\nxml.dom.parse()", ["xml.dom.parse"]),
        ("from os.path import join as j\nj('a')", ["os.path.join"]),
        ("from . import near\nnear.f()", ["pkg.near.f"]),
        ("from .near import f\nf()", ["pkg.near.f"]),
        ("from .. import far\nfar.f()", ["far.f"]),
        ("from os import *\nlen([])", ["len"]),
        ("def f(): pass\nf()", ["pkg.mod.f"]),
        ("try:\n  class C: pass\nexcept ImportError: pass\nC()", ["ImportError", "pkg.mod.C"]),
        ("x = []\nx.append(1)", [".append"]),
        ("'a b'.split().pop()", [".pop", ".split"]),
        ("f()()", []),
        ("def f(len, g):\n  len(g)\n  g()\n  str(g)", ["str"]),
        ("def f():\n  open = 3\n  return lambda: open()", []),
        ("x = lambda list: list()", []),
        ("import re\nclass C(re.Pattern):\n  pass", ["re.Pattern"]),
        ("raise ValueError", ["ValueError"]),
        ("@property\ndef f(): pass", ["property"]),
        ("import sys\nsys.argv = 3\nsys.path[0]", ["sys.argv", "sys.path"]),
        ("x = __name__", []),
        ("(yes if len else no).go(sum)", [".go", "len", "sum"]),
    ],
)
def test_names_are_written_as_a_reader_would_say_them(source, expected):
    uses = names_of(source).uses
    assert sorted(uses) == expected


def test_every_mention_counts_once_by_its_longest_name():
    assert names_of("import sys\nsys.path.append(sys.path)").uses == {"sys.path.append": 1, "sys.path": 1}


def test_relative_imports_of_a_package_start_at_the_package():
    assert list(names_of("from .near import f\nf()", "pkg", is_package=True).uses) == ["pkg.near.f"]


def test_calls_come_in_the_order_of_evaluation_and_stay_in_their_function():
    found = names_of(
        """
        class C:
            def f(self, x):
                def inner():
                    abs(x)
                return print(len(x), str(max(x)))
            f2 = str(1)
        """
    )
    assert found.calls == [("pkg.mod.C.f.inner", ["abs"]), ("pkg.mod.C.f", ["len", "max", "str", "print"])]


def test_docstrings_of_modules_classes_and_functions():
    found = names_of('''"""M."""\nclass C:\n  """K."""\n  def f(self):\n    """F."""\nasync def g(): """G."""\n''')
    assert found.docstrings == {"pkg.mod": "M.", "pkg.mod.C": "K.", "pkg.mod.C.f": "F.", "pkg.mod.g": "G."}


def test_broken_source_is_the_callers_business():
    with pytest.raises(SyntaxError):
        names_of("def")


def test_only_python_itself_provides_built_in_names():
    assert {"len", "open", "ValueError", "print"} <= BUILTINS
    assert not {"exit", "copyright", "__name__", "_"} & BUILTINS
