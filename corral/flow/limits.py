"""How large a flow may be. Each limit is far above what people write and far below what would hurt."""

#: One file. It fits into a request of 1 MiB together with the files that it runs.
MAX_SOURCE_CHARACTERS = 512 * 1024

#: One key or value: the longest text that it makes sense to type into a phone.
MAX_SCALAR_CHARACTERS = 10_000

#: Values, lists and mappings in one file: a dozen for each of the steps that a run may have.
MAX_YAML_NODES = 60_000

#: Lists and mappings inside each other: `MAX_COMMAND_NESTING` commands at three levels each, and a selector.
#: Every recursion over the tree is bounded by it.
MAX_YAML_DEPTH = 64

#: runFlow, repeat and retry inside each other, across files.
MAX_COMMAND_NESTING = 16

#: Steps of one run, see `steps.step_count`: at two seconds each, three hours.
MAX_STEPS = 5_000

#: A pattern is run over every text on the screen; see `patterns`.
MAX_PATTERN_CHARACTERS = 500

#: The longest wait a step may ask for: an hour. What takes longer belongs into the task's own limit.
MAX_WAIT_MS = 3_600_000

#: The driver ends every command after 30 s, and a stop waits for the finger: a gesture stays well below that.
MAX_GESTURE_MS = 20_000

#: Names in one `env`, and the characters of a value.
MAX_VARIABLES = 200
