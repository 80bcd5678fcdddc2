"""The rules that need no database: the life of a task, what a report makes of it, which device suits it."""
