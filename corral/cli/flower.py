"""`corral flower`: Flower's pages over Corral's broker, as one part of a cluster."""

from corral.cli.failures import CommandFailed
from corral.cli.parts import settings_of


def flower() -> int:
    """Serve Flower. Settings: CORRAL_REDIS_URL, CORRAL_FLOWER_ADDRESS, CORRAL_FLOWER_PORT, CORRAL_FLOWER_USERS, …."""
    from control.flower.settings import FlowerSettings
    from control.flower.web import CannotListen, run_flower
    from corral.logs import configure_logs

    settings = settings_of(FlowerSettings)
    configure_logs(log_format=settings.log_format, log_level=settings.log_level)
    try:
        return run_flower(settings)
    except CannotListen as trouble:
        raise CommandFailed(str(trouble)) from trouble
