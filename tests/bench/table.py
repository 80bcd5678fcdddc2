"""Rows as a table for people."""

from rich.console import Console
from rich.table import Table

from tests.bench.row import Row

LEFT = frozenset({"name", "floor"})
#: Where nobody looks at the output, nothing may be cut.
WIDTH = 240


def show(title: str, rows: list[Row]) -> None:
    """Print the rows, a column for each value that any of them has."""
    columns = list(dict.fromkeys(column for row in rows for column in row.as_json()))
    table = Table(title=title, title_justify="left")
    for column in columns:
        # Spaces, so that a heading can be broken into lines.
        heading = column.replace("_", " ")
        table.add_column(heading, justify="left" if column in LEFT else "right", no_wrap=column in LEFT)
    for row in rows:
        values = row.as_json()
        table.add_row(*(str(values.get(column, "")) for column in columns))
    console = Console()
    (console if console.is_terminal else Console(width=WIDTH)).print(table)
