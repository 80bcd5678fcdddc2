"""`python -m corral.stack.cluster_secrets FOLDER`: makes up the secrets of a cluster of containers, once.

Each service gets a folder of its own, to be mounted by it alone: a host that is broken into knows no database.

    postgres/password   redis/password, redis.conf   control/database-url, redis-url, join-token
    host/join-token     flower/redis-url, users, password

What is there stays. Files that are made of others are written again each time, so that replacing `flower/password`, or
a start that was cut off, ends with files that agree.
"""

import secrets
import sys
from pathlib import Path

#: Services read them under user ids that differ from image to image; the mount says who sees them.
_FILE_MODE, _FOLDER_MODE = 0o444, 0o755

_REDIS_CONF = """\
bind * -::*
requirepass {password}
dir /data
appendonly yes
# Full, it refuses instead of forgetting: what it forgot would be found again by sweeps, but late.
maxmemory 384mb
maxmemory-policy noeviction
"""


def make_secrets(folder: Path) -> None:
    """Make what is missing. Safe to repeat, and to repeat after it was cut off anywhere."""
    postgres, redis = _made(folder / "postgres/password"), _made(folder / "redis/password")
    join_token, flower = _made(folder / "control/join-token"), _made(folder / "flower/password")
    redis_url = f"redis://:{redis}@redis:6379/0"
    for name, content in {
        "redis/redis.conf": _REDIS_CONF.format(password=redis),
        "control/database-url": f"postgresql://corral:{postgres}@postgres:5432/corral",
        "control/redis-url": redis_url,
        "host/join-token": join_token,
        "flower/redis-url": redis_url,
        "flower/users": f"corral:{flower}",
    }.items():
        _write(folder / name, content)


def _made(path: Path) -> str:
    if not path.exists():
        _write(path, secrets.token_urlsafe(32))
    return path.read_text().strip()


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(content)
    partial.chmod(_FILE_MODE)
    partial.replace(path)


if __name__ == "__main__":
    make_secrets(Path(sys.argv[1]))
