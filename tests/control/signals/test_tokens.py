"""What a process remembers of credentials, and for how long."""

import threading

import pytest

from control.signals.tokens import DEAF_SECONDS, HEARING_SECONDS, VerifiedTokens

TOKEN = "corral_abc_secret"
ID = "key:abc"


class Channel:
    """A clock and a connection that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0
        self.is_connected = True

    def tokens(self, *, max_tokens: int = 10) -> VerifiedTokens[str]:
        return VerifiedTokens(is_connected=lambda: self.is_connected, max_tokens=max_tokens, clock=lambda: self.now)


@pytest.fixture
def channel() -> Channel:
    return Channel()


def verify(tokens: VerifiedTokens[str], token: str = TOKEN, *, token_id: str = ID) -> None:
    tokens.remember(tokens.begin(), token, f"holder of {token_id}", token_id=token_id)


def test_a_token_is_known_after_it_was_verified_and_no_other(channel: Channel):
    tokens = channel.tokens()
    assert tokens.known(TOKEN) is None
    verify(tokens)
    assert tokens.known(TOKEN) == "holder of key:abc"
    assert tokens.known(TOKEN + "x") is None


@pytest.mark.parametrize(("is_connected", "lifetime"), [(True, HEARING_SECONDS), (False, DEAF_SECONDS)])
def test_a_token_is_verified_again_sooner_where_no_revocation_could_be_heard(
    channel: Channel, is_connected: bool, lifetime: float
):
    tokens = channel.tokens()
    verify(tokens)
    channel.is_connected = is_connected
    channel.now += lifetime - 0.01
    assert tokens.known(TOKEN)
    channel.now += 0.02
    assert tokens.known(TOKEN) is None


def test_the_lifetime_counts_from_before_postgres_was_asked(channel: Channel):
    tokens = channel.tokens()
    ticket = tokens.begin()
    channel.now += HEARING_SECONDS + 1
    tokens.remember(ticket, TOKEN, "late", token_id=ID)
    assert tokens.known(TOKEN) is None


def test_a_revoked_token_is_forgotten_at_once_and_the_others_stay(channel: Channel):
    tokens = channel.tokens()
    verify(tokens)
    verify(tokens, "another", token_id="key:other")
    tokens.drop(ID)
    assert tokens.known(TOKEN) is None
    assert tokens.known("another")
    tokens.clear()
    assert tokens.known("another") is None


@pytest.mark.parametrize("happens", ["drop", "clear"])
def test_what_was_read_before_a_revocation_is_not_remembered_after_it_was_heard(channel: Channel, happens: str):
    tokens = channel.tokens()
    ticket = tokens.begin()
    tokens.drop(ID) if happens == "drop" else tokens.clear()
    tokens.remember(ticket, TOKEN, "read before", token_id=ID)
    assert tokens.known(TOKEN) is None
    verify(tokens)
    assert tokens.known(TOKEN)


def test_the_oldest_tokens_make_room(channel: Channel):
    tokens = channel.tokens(max_tokens=3)
    for name in ("a", "b", "c"):
        verify(tokens, name)
    verify(tokens, "a")
    verify(tokens, "d")
    assert [name for name in ("a", "b", "c", "d") if tokens.known(name)] == ["a", "c", "d"]
    assert len(tokens) == 3


def test_no_token_itself_is_kept(channel: Channel):
    tokens = channel.tokens()
    verify(tokens)
    assert TOKEN not in repr(tokens._verified)


def test_threads_that_verify_and_revoke_at_once_never_bring_a_token_back(channel: Channel):
    tokens = channel.tokens(max_tokens=50)
    revoked = threading.Event()
    failures: list[int] = []

    def verify_many(worker: int) -> None:
        for number in range(300):
            ticket = tokens.begin()
            is_valid = not revoked.is_set()  # stands for the read in Postgres
            if is_valid:
                tokens.remember(ticket, TOKEN, "valid", token_id=ID)
            verify(tokens, f"{worker}-{number}", token_id=f"key:{worker}-{number}")
            if not is_valid and is_dropped.is_set() and tokens.known(TOKEN):
                failures.append(number)

    is_dropped = threading.Event()
    threads = [threading.Thread(target=verify_many, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    revoked.set()
    tokens.drop(ID)
    is_dropped.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert tokens.known(TOKEN) is None
