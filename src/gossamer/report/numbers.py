"""Numbers as people read them."""

from __future__ import annotations

import math

MISSING = "–"


def format_number(value: float, decimals: int | None = None) -> str:
    """Write an integer with separators, a real with `decimals` or about four significant digits.

    >>> [format_number(value) for value in (1234567, 0.41712, 12.0, 3e-7, float("nan"))]
    ['1,234,567', '0.4171', '12.00', '3e-07', '–']
    """
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if decimals is None:
        decimals = shared_decimals([value])
    # A value that would be rounded to nothing keeps its own digits.
    is_lost = value != 0 and abs(value) < 0.5 * 10**-decimals
    written = f"{value:.3g}" if is_lost or abs(value) >= 1e15 else f"{value:,.{decimals}f}"
    return written if written[0] != "-" else "−" + written[1:]


def shared_decimals(values: list[float]) -> int:
    """Return the decimals that give the largest value about four significant digits, the same for a whole column."""
    finite = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if not finite:
        return 2
    return min(4, max(0, 3 - math.floor(math.log10(max(finite)))))


def format_bytes(count: float) -> str:
    """Write a number of bytes with a binary unit.

    >>> format_bytes(28), format_bytes(10_500_000)
    ('28 B', '10.0 MiB')
    """
    size = float(count)
    if not math.isfinite(size):
        return MISSING
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"


def format_seconds(seconds: float) -> str:
    """Write a duration with the unit that suits it.

    >>> format_seconds(0.0123), format_seconds(4.2), format_seconds(3725)
    ('12 ms', '4.2 s', '1 h 02 min')
    """
    if not math.isfinite(seconds):
        return MISSING
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60:02d} s"


def format_share(share: float) -> str:
    """Write a share between 0 and 1 in per cent.

    >>> format_share(0.0271), format_share(0.25)
    ('2.71 %', '25.0 %')
    """
    if not math.isfinite(share):
        return MISSING
    percent = 100 * share
    if abs(percent) < 0.1:
        return f"{percent:.2g} %"
    return f"{percent:.1f} %" if percent >= 10 else f"{percent:.2f} %"
