"""The host, asked for cases."""
