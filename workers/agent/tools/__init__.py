"""What an agent can do: one file per kind of tool. `tool.py` is what the loop needs of one."""
