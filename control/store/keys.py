"""API keys: who may call. Secrets are stored as hashes."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import RowMapping

from control.store.database import Transaction
from control.store.json_text import as_json


def insert_api_key(tx: Transaction, *, key_id: str, name: str, secret_hash: bytes, scopes: Sequence[str]) -> datetime:
    return tx.value(
        """
        INSERT INTO api_keys (key_id, name, secret_hash, scopes, created_at)
        VALUES (:key_id, :name, :secret_hash, CAST(:scopes AS jsonb), corral_now()) RETURNING created_at
        """,
        key_id=key_id,
        name=name,
        secret_hash=secret_hash,
        scopes=as_json(list(scopes)),
    )


def api_keys(tx: Transaction) -> Sequence[RowMapping]:
    """All keys, the oldest first, with those that are revoked."""
    return tx.rows("SELECT key_id, name, scopes, created_at, revoked_at FROM api_keys ORDER BY created_at, key_id")


def revoke_api_key(tx: Transaction, key_id: str) -> RowMapping | None:
    """Void a key, once; None where there is no such key."""
    return tx.row(
        """
        UPDATE api_keys SET revoked_at = coalesce(revoked_at, corral_now()) WHERE key_id = :key_id
        RETURNING key_id, name, scopes, created_at, revoked_at
        """,
        key_id=key_id,
    )


def lately_revoked_keys(tx: Transaction, *, within_seconds: float) -> list[str]:
    """The ids of keys that were revoked in this time."""
    rows = tx.rows(
        "SELECT key_id FROM api_keys WHERE revoked_at > corral_now() - make_interval(secs => :seconds)",
        seconds=within_seconds,
    )
    return [row["key_id"] for row in rows]


def find_api_key(tx: Transaction, key_id: str) -> RowMapping | None:
    """A key that is not revoked."""
    return tx.row(
        "SELECT name, secret_hash, scopes FROM api_keys WHERE key_id = :key_id AND revoked_at IS NULL", key_id=key_id
    )
