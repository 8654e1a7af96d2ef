"""Parts that programs of several questions share."""
