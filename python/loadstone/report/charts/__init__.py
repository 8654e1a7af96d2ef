"""The pictures of a report: each is defined once, for the page, SVG and PNG alike."""
