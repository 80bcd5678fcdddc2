"""The embedded default: Postgres and Valkey out of wheels, and every part of Corral as a process of its own.

Nothing here knows the rules of the product. It starts programs, waits until they answer, restarts those that die, and
ends all of them.
"""
