"""A JVM."""
