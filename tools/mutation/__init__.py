"""Mutation testing of what `pluginkit new` writes: `tools/mutants.py` is the command."""
