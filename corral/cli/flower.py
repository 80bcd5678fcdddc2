"""`corral flower`: Flower's pages over Corral's broker, as one part of a cluster."""

from corral.cli.failures import CommandFailed, WrongUsage


def flower() -> int:
    """Serve Flower. Settings: CORRAL_REDIS_URL, CORRAL_FLOWER_ADDRESS, CORRAL_FLOWER_PORT, CORRAL_FLOWER_USERS, …."""
    from control.flower.settings import FlowerSettings
    from control.flower.web import CannotListen, run_flower
    from corral.environment import SettingsInvalid, settings_from_environment
    from corral.logs import configure_logs

    try:
        settings = settings_from_environment(FlowerSettings)
    except SettingsInvalid as trouble:
        raise WrongUsage(f"settings are missing or wrong:\n{trouble}") from trouble
    configure_logs(log_format=settings.log_format, log_level=settings.log_level)
    try:
        return run_flower(settings)
    except CannotListen as trouble:
        raise CommandFailed(str(trouble)) from trouble
