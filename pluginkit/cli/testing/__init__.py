"""Commands that prove a plugin."""
