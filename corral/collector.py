"""How often Python looks for cycles of objects that nobody holds any more."""

import gc

#: So many objects are made before it does. Python's own 700 is less than a batch of renewals, and a thousandth of what
#: an import makes.
COLLECTED_AFTER = 20_000


def collect_seldom() -> None:
    """Have cycles looked for seldom: there are few, and each look goes through all that is young."""
    gc.set_threshold(COLLECTED_AFTER, 20, 20)
