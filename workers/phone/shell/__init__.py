"""The phone's shell: a reader for what adb clients and people send, and the commands, one file for each family."""
