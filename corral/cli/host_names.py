"""Hosts by the names that people call them."""

from uuid import UUID

from corral.cli.failures import WrongUsage
from corral.client import Corral


def id_of_host(corral: Corral, host: str) -> UUID:
    """The id of the host with this id or name.

    Raises:
        WrongUsage: no host, or more than one, has this name.
    """
    try:
        return UUID(host)
    except ValueError:
        pass
    known = list(corral.hosts())
    named = [view.host_id for view in known if view.name == host]
    if len(named) != 1:
        there_are = ", ".join(sorted(view.name for view in known)) or "none"
        trouble = f"{len(named)} hosts are" if named else "no host is"
        raise WrongUsage(f"{trouble} called '{host}'; give an id, or one of: {there_are}")
    return named[0]
