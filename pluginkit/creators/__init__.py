"""Lists the creators of a library: each host that is installed loads it in a worker process."""
