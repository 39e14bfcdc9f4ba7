"""Other processes: programs that are run, and workers that plugins and NVIDIA's libraries live in."""
