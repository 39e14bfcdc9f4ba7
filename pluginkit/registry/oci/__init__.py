"""Bundles in OCI registries: references, credentials, requests, what a bundle is there, push, pull and search."""
