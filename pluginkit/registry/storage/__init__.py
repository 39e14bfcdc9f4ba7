"""Stores: bundles by content, their index, several stores in order."""
