"""memcached, by its meta protocol."""
