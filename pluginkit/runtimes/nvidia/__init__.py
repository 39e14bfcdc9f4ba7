"""What the sessions of NVIDIA's libraries share: bindings, networks by the API, engines."""
