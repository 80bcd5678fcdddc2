"""`corral keys`: who may call."""

from typing import Annotated

import typer

from corral.cli.connection import connect
from corral.cli.exit_codes import HELP
from corral.cli.help import Command, Group
from corral.cli.options import Json
from corral.cli.output import plain, print_json, stderr, stdout
from corral.cli.parts import database_failures, database_url
from corral.contract.fleet import ApiKeyCreated, ApiKeyRequest, Scope

app = typer.Typer(cls=Group, help="Make API keys.", no_args_is_help=True)

Name = Annotated[str, typer.Option(help="Whose key it is; events name it.", show_default=False)]
Scopes = Annotated[list[Scope] | None, typer.Option("--scope", help="What it may do; several times. Default: all.")]


@app.command(cls=Command, epilog=HELP)
def create(context: typer.Context, name: Name, scope: Scopes = None, as_json: Json = False) -> None:
    """Make a key over the API, which takes a key with the scope keys:admin."""
    with connect(context) as corral:
        created = corral.create_api_key(name, scopes=scope or list(Scope))
    _show(created, as_json=as_json)


@app.command(cls=Command, epilog=HELP)
def bootstrap(name: Name, scope: Scopes = None, as_json: Json = False) -> None:
    """Make the first key of a cluster, directly in the database of CORRAL_DATABASE_URL."""
    from corral.stack.plane import create_first_key

    url = database_url()
    request = ApiKeyRequest(name=name, scopes=scope or list(Scope))
    with database_failures():
        created = create_first_key(url, request)
    _show(created, as_json=as_json)


def _show(created: ApiKeyCreated, *, as_json: bool) -> None:
    if as_json:
        print_json(created)
        return
    stdout().print(plain(created.api_key))
    stderr().print(plain(f"Keep it: it is shown this once. It may: {', '.join(created.scopes)}"))
