"""A test run of many projects of one repository, and of what a change of it concerns."""
