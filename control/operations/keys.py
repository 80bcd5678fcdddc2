"""Who may call: API keys of people and programs, credentials of hosts. Both are stored as hashes alone.

A secret is 32 random bytes, so a plain SHA-256 of it cannot be guessed backwards, and checking one costs microseconds.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from control.domain.errors import KeyNotFound, Unauthenticated
from control.operations.plane import Plane
from control.signals.tokens import VerifiedTokens
from control.store import hosts, keys
from corral.contract.fleet import ApiKeyCreated, ApiKeyList, ApiKeyView, Scope

_KEY_PREFIX = "corral"
_HOST_PREFIX = "corralhost"
_ID_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_NOTHING = hashlib.sha256(b"").digest()


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls, as the audit trail names them, and what they may do."""

    key_id: str
    actor: str
    scopes: frozenset[Scope]


def create_api_key(plane: Plane, *, name: str, scopes: list[Scope]) -> ApiKeyCreated:
    """Make a key; its secret is in this answer and nowhere else."""
    key_id = "".join(secrets.choice(_ID_ALPHABET) for _ in range(10))
    secret = secrets.token_urlsafe(32)
    granted = sorted(set(scopes))
    with plane.database.transaction() as tx:
        created_at = keys.insert_api_key(
            tx, key_id=key_id, name=name, secret_hash=_hash(secret), scopes=[scope.value for scope in granted]
        )
    api_key = f"{_KEY_PREFIX}_{key_id}_{secret}"
    return ApiKeyCreated(key_id=key_id, name=name, scopes=granted, api_key=api_key, created_at=created_at)


def list_api_keys(plane: Plane) -> ApiKeyList:
    """All keys without their secrets; revoked ones too."""
    with plane.database.statement() as tx:
        return ApiKeyList(keys=[ApiKeyView.model_validate(dict(row)) for row in keys.api_keys(tx)])


def revoke_api_key(plane: Plane, key_id: str) -> ApiKeyView:
    """Void a key. Once this returns no process takes it that hears wake-ups, nor after some seconds any that does not.

    Raises:
        KeyNotFound: there is no such key.
    """
    with plane.database.transaction() as tx:
        row = keys.revoke_api_key(tx, key_id)
        if row is None:
            raise KeyNotFound(f"there is no API key {key_id}", key_id=key_id)
        tx.after_commit(lambda: plane.wakeups.drop_tokens([id_of_key(key_id)]))
        return ApiKeyView.model_validate(dict(row))


def authenticate_key(plane: Plane, token: str) -> Principal:
    """Whose key this is.

    Raises:
        Unauthenticated: it is nobody's.
    """
    key_id, secret = _parts(token, _KEY_PREFIX)
    with plane.database.statement() as tx:
        row = keys.find_api_key(tx, key_id)
    if row is None or not _is_secret_of(bytes(row["secret_hash"]), secret):
        raise Unauthenticated("this API key is not known here")
    scopes = frozenset(Scope(scope) for scope in row["scopes"])
    return Principal(key_id=key_id, actor=f"key:{row['name']}", scopes=scopes)


def authenticate_hosts(plane: Plane, tokens: Sequence[str]) -> list[UUID | None]:
    """Which host each of these credentials belongs to; None for one that is nobody's."""
    parts = [_host_parts(token) for token in tokens]
    with plane.database.statement() as tx:
        stored = hosts.credential_hashes_of(tx, [one[0] for one in parts if one is not None])
    return [one[0] if one is not None and _is_secret_of(stored.get(one[0]), one[1]) else None for one in parts]


def verify_key(plane: Plane, known: VerifiedTokens[Principal], token: str) -> Principal:
    """Whose key this is, remembered for the next request. Raises as `authenticate_key`."""
    ticket = known.begin()
    principal = authenticate_key(plane, token)
    known.remember(ticket, token, principal, token_id=id_of_key(principal.key_id))
    return principal


def verify_hosts(plane: Plane, known: VerifiedTokens[UUID], tokens: Sequence[str]) -> list[UUID | None]:
    """Which hosts these credentials belong to, remembered for the next request; None for one that is nobody's."""
    ticket = known.begin()
    host_ids = authenticate_hosts(plane, tokens)
    for token, host_id in zip(tokens, host_ids, strict=True):
        if host_id is not None:
            known.remember(ticket, token, host_id, token_id=id_of_host(host_id))
    return host_ids


def verify_host(plane: Plane, known: VerifiedTokens[UUID], token: str) -> UUID:
    """Which host this credential belongs to, remembered for the next request.

    Raises:
        Unauthenticated: to none.
    """
    (host_id,) = verify_hosts(plane, known, [token])
    if host_id is None:
        raise Unauthenticated("this host credential is not known here: it looks like corralhost_<id>_<secret>")
    return host_id


def lately_revoked(plane: Plane, *, within_seconds: float) -> frozenset[str]:
    """The names of what was revoked in this time, whether or not anybody was told of it."""
    with plane.database.statement() as tx:
        key_ids = keys.lately_revoked_keys(tx, within_seconds=within_seconds)
        host_ids = hosts.lately_revoked_hosts(tx, within_seconds=within_seconds)
    return frozenset([*map(id_of_key, key_ids), *map(id_of_host, host_ids)])


def id_of_key(key_id: str) -> str:
    """The name by which all processes are told that a key is void."""
    return f"key:{key_id}"


def id_of_host(host_id: UUID) -> str:
    """The name by which all processes are told that a host's credential is void."""
    return f"host:{host_id}"


def host_credential(host_id: UUID) -> tuple[str, bytes]:
    """A fresh credential for a host, and the hash of its secret."""
    secret = secrets.token_urlsafe(32)
    return f"{_HOST_PREFIX}_{host_id.hex}_{secret}", _hash(secret)


def _parts(token: str, prefix: str) -> tuple[str, str]:
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != prefix or not parts[1].isascii() or not parts[1].isalnum():  # noqa: PLR2004
        raise Unauthenticated(f"a token looks like {prefix}_<id>_<secret>")
    return parts[1], parts[2]


def _host_parts(token: str) -> tuple[UUID, str] | None:
    try:
        name, secret = _parts(token, _HOST_PREFIX)
        return UUID(name), secret
    except (Unauthenticated, ValueError):
        return None


def _is_secret_of(stored: bytes | None, secret: str) -> bool:
    return hmac.compare_digest(stored or _NOTHING, _hash(secret)) and stored is not None


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
