"""Why a command gave up, with what its process ends with."""

from corral.cli.exit_codes import ExitCode


class CommandFailed(Exception):
    """The command could not do what it was asked; the message is for the user."""

    code = "failed"
    exit_code = ExitCode.FAILED


class WrongUsage(CommandFailed):
    """Correct the command line."""

    code = "usage"
    exit_code = ExitCode.USAGE
