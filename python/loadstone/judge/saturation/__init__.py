"""From trials to what the saturation estimates take. Pure."""
