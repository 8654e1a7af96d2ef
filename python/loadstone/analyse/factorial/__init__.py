"""The effects of factorials: what an analysis holds of them."""
