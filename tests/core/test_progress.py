from __future__ import annotations

from gossamer.core.progress import progress_is_shown, show_progress, track


def test_silent_unless_asked(capsys):
    assert not progress_is_shown()
    assert list(track(range(3), "counting")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_shown_only_inside_the_block_and_only_on_stderr(capsys):
    with show_progress():
        assert progress_is_shown()
        assert list(track(iter("ab"), "counting", total=2)) == ["a", "b"]
        with show_progress(False):
            assert not progress_is_shown()
    assert not progress_is_shown()
    assert capsys.readouterr().out == ""
