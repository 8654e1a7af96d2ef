"""Programs that drive with a client library: their manifests, their builds, their messages."""
