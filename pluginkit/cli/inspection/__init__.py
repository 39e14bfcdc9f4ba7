"""Commands that look into libraries, models and the machine."""
