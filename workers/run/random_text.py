"""Made-up texts, all of which plain `input text` can type."""

import secrets
import string

_FIRST_NAMES = (
    "Ada",
    "Alan",
    "Barbara",
    "Donald",
    "Edsger",
    "Frances",
    "Grace",
    "John",
    "Katherine",
    "Ken",
    "Margaret",
)
_LAST_NAMES = ("Allen", "Backus", "Dijkstra", "Hamilton", "Hopper", "Johnson", "Knuth", "Liskov", "Lovelace", "Turing")


def random_digits(length: int) -> str:
    return _characters(string.digits, length)


def random_letters_and_digits(length: int) -> str:
    return _characters(string.ascii_lowercase + string.digits, length)


def random_person_name() -> str:
    return f"{secrets.choice(_FIRST_NAMES)} {secrets.choice(_LAST_NAMES)}"


def random_email() -> str:
    """At a domain that is reserved for examples: nobody gets the mail."""
    first, last = random_person_name().lower().split()
    return f"{first}.{last}{random_digits(4)}@example.com"


def _characters(alphabet: str, length: int) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(length))
