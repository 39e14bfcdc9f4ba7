"""A test run: what is built, which cases run where, and the report."""
