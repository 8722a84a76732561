"""The door: help, exit codes, one sentence per mistake, and a quick start."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from command_line import Gossamer
from typer.testing import CliRunner

from gossamer.cli import app as application
from gossamer.cli import version as version_verb
from gossamer.version import __version__

VERBS = ["data", "fit", "evaluate", "recommend", "inspect", "compare", "reproduce", "demo", "version"]


def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gossamer.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)


def test_help_names_every_verb() -> None:
    result = CliRunner().invoke(application.app, ["--help"])
    assert result.exit_code == 0
    assert all(verb in result.output for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    result = CliRunner().invoke(application.app, [verb, "--help"])
    assert result.exit_code == 0
    if verb == "data":
        result = CliRunner().invoke(application.app, [verb, "show", "--help"])
    assert f"gossamer {verb}" in result.output
    assert "Example" in result.output


def test_a_real_process_starts_without_torch() -> None:
    """Help and version must not wait for torch: nothing heavy is imported before a verb runs."""
    program = (
        "import sys\n"
        "from gossamer.cli.app import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit as done:\n    code = done.code\n"
        "heavy = {'torch', 'numpy', 'polars', 'numba', 'matplotlib', 'scipy', 'sklearn'} & set(sys.modules)\n"
        "print(sorted(heavy), code)\n"
    )
    for arguments in (["version"], ["--help"], ["fit", "--help"]):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] in ("[] 0", "[] None"), arguments


def test_an_interruption_before_any_verb_is_quiet_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(application, "app", interrupt)
    with pytest.raises(SystemExit) as done:
        application.main([])
    assert done.value.code == 130
    assert capsys.readouterr().err == "gossamer: interrupted\n"


def test_version_through_a_real_process() -> None:
    done = start("version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"gossamer {__version__} ")


def test_a_mistake_is_one_sentence_without_traceback() -> None:
    done = start("reproduce", "--all", "--list")
    assert done.returncode == 2
    assert done.stderr == "gossamer: give the name of an experiment, or one of --list, --all and --tables\n"
    assert done.stdout == ""


def test_debug_shows_the_traceback() -> None:
    done = start("reproduce", GOSSAMER_DEBUG="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_wrong_option_is_a_mistake_too(gossamer: Gossamer) -> None:
    code, _, err = gossamer("fit", "ease")
    assert code == 2
    assert "--data" in err
    assert gossamer("fly")[0] == 2


def test_no_arguments_show_help(gossamer: Gossamer) -> None:
    code, out, err = gossamer()
    assert code in (0, 2)
    assert "Start with" in out + err


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ValueError("l2 must be > 0, got -1"), 2, "gossamer: l2 must be > 0, got -1\n"),
        (FileNotFoundError("no such file"), 2, "gossamer: no such file\n"),
        (ImportError("x is not installed; install it with: pip install 'gossamer[bench]'"), 2, "pip install"),
        (FloatingPointError("loss is nan"), 2, "gossamer: loss is nan\n"),
        (KeyboardInterrupt(), 130, "gossamer: interrupted\n"),
        (
            ZeroDivisionError("zero"),
            1,
            "this is a bug in gossamer: ZeroDivisionError: zero; set",
        ),
        (ImportError("cannot import name"), 1, "this is a bug in gossamer: ImportError: cannot import name; set"),
        (ValueError(), 2, "gossamer: ValueError\n"),
    ],
)
def test_errors_become_exit_codes(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    sentence: str,
) -> None:
    monkeypatch.delenv("GOSSAMER_DEBUG", raising=False)

    def fail() -> None:
        raise error

    monkeypatch.setattr(version_verb.typer, "echo", lambda _: fail())
    with pytest.raises(SystemExit) as done:
        application.main(["version"])
    assert done.value.code == code
    assert sentence in capsys.readouterr().err
