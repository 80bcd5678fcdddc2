"""Models: the only room that knows a provider. `interface.py` is what the loop needs of one."""
