"""`gossamer serve`: models over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

EXAMPLES = """
Examples:

[bold]gossamer serve ease[/bold]

[bold]gossamer serve ease topics phases --port 9000 --workers 2[/bold]

[bold]GOSSAMER_TOKEN=$(cat token) gossamer serve ease --host 0.0.0.0[/bold]

[bold]curl -s localhost:8000/recommend -H 'Content-Type: application/json' -d '{"history": \\["os.getcwd"]}'[/bold]
"""


def run(
    artifacts: Annotated[list[str], typer.Argument(metavar="DIR...", help="Directories that `gossamer fit` wrote.")],
    host: Annotated[str, typer.Option(help="The address to listen on; others than this machine's need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="GOSSAMER_TOKEN", show_envvar=True, help="Let in only who has it; others see it if given here."
        ),
    ] = None,
    without_token: Annotated[
        bool, typer.Option("--without-token", help="Let everybody in, from other machines, too.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes that answer.")] = 1,
    users: Annotated[
        bool,
        typer.Option("--users", help="Open the training data, too: users can be asked for by id, items have titles."),
    ] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds that an answer may take.")] = 10.0,
    max_body: Annotated[int, typer.Option(help="Bytes that a request may have.")] = 1 << 20,
) -> None:
    """Answer questions to saved models over HTTP: /recommend, /encode, /similar, /explain, /next; /docs says how."""
    from gossamer.cli.printing import print_line
    from gossamer.serving.running import check_installed, run_server
    from gossamer.serving.settings import Settings, check_exposure

    check_installed()
    check_exposure(host, token, is_open=without_token)
    run_server(
        artifacts,
        Settings(token=token, time_limit=time_limit, max_body=max_body),
        host=host,
        port=port,
        workers=workers,
        with_users=users,
        on_start=lambda url, names: print_line(f"serving {', '.join(names)} on {url}, see {url}/docs; Ctrl-C ends it"),
    )
