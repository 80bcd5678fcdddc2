"""`corral keys`: who may call."""

from typing import Annotated

import typer
from rich.text import Text

from corral.cli.connection import connect
from corral.cli.exit_codes import HELP
from corral.cli.help import Command, Group
from corral.cli.options import Json
from corral.cli.output import plain, print_json, print_table, stderr, stdout
from corral.cli.parts import database_failures, database_url
from corral.cli.words import age
from corral.contract.fleet import ApiKeyCreated, ApiKeyList, ApiKeyRequest, ApiKeyView, Scope

app = typer.Typer(cls=Group, help="Make, list and revoke API keys.", no_args_is_help=True)

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


@app.command("list", cls=Command, epilog=HELP)
def index(context: typer.Context, as_json: Json = False) -> None:
    """List the keys, also those that were revoked; never their secrets."""
    with connect(context) as corral:
        found = list(corral.api_keys())
    if as_json:
        print_json(ApiKeyList(keys=found))
        return
    rows = ((key.key_id, key.name, _state(key), age(key.created_at), ", ".join(key.scopes)) for key in found)
    print_table(("KEY", "NAME", "STATE", "MADE", "MAY"), rows, empty="There are no keys.", unfolded={"KEY", "STATE"})


@app.command(cls=Command, epilog=HELP)
def revoke(
    context: typer.Context,
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="As `list` shows it.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Void a key, at once and for good; revoking it again changes nothing."""
    with connect(context) as corral:
        revoked = corral.revoke_api_key(key_id)
    if as_json:
        print_json(revoked)
    else:
        stdout().print(Text.assemble(plain(revoked.key_id), " (", plain(revoked.name), ") is ", _state(revoked)))


def _state(key: ApiKeyView) -> Text:
    return Text("revoked", "bold red") if key.revoked_at else Text("good", "green")


def _show(created: ApiKeyCreated, *, as_json: bool) -> None:
    if as_json:
        print_json(created)
        return
    stdout().print(plain(created.api_key))
    stderr().print(plain(f"Keep it: it is shown this once. It may: {', '.join(created.scopes)}"))
