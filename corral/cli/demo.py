"""stub"""


def demo() -> int:
    return 1
