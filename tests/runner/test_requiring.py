from __future__ import annotations

import pytest

from gossamer.runner.requiring import require


def test_a_missing_library_names_the_command_that_installs_it() -> None:
    with pytest.raises(
        ImportError, match=r"nonesuch is not installed; install it with: pip install 'gossamer\[bench\]'"
    ):
        require("nonesuch.als")


def test_a_module_that_is_there_is_returned() -> None:
    assert require("os.path").join("a", "b") == "a/b"
