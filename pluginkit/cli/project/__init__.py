"""Commands that make and change projects."""
