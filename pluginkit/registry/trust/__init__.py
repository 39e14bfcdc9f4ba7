"""Who may publish which plugins: keys, signatures over bundles' digests, and the user's trust.toml."""
