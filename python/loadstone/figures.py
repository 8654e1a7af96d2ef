"""Numbers and times with three digits, the same everywhere."""


def rounded(value: float) -> str:
    """A number with three digits: `18,400`, `84.3`."""
    if value == 0:
        return "0"
    return f"{float(f'{value:.3g}'):,.10f}".rstrip("0").rstrip(".")


def digits(value: float, count: int = 3) -> str:
    """A number with so many digits at least, and never as a power of ten: `0.42`, `99.6`, `100`, `1,234`."""
    text = f"{value:.{count}g}"
    if "e" not in text:
        return text
    return f"{value:,.0f}" if abs(value) >= 1 else f"{float(text):.12f}".rstrip("0").rstrip(".")


def duration(nanoseconds: float) -> str:
    """A time with three digits: `840 ns`, `84.1 us`, `1.20 ms`."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= 0.9995 * size:
            return f"{_three(nanoseconds / size)} {unit}"
    return f"{nanoseconds:.0f} ns"


def check_figure(value: float) -> str:
    """A check's figure or limit: three digits, and a whole number in full: `97.2`, `12,345`."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _three(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def slice_text(seconds: float) -> str:
    """`400 ms`, `1.6 s`."""
    return f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms"
