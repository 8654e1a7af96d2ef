"""Random numbers of 64 bits as docs/driver-contract.md has them: the texts of every driver come from these."""

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    """Scatters the bits of `x`: one step of SplitMix64."""
    x = (x + GOLDEN) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Xoshiro:
    """The stream number `stream` of `seed`, by xoshiro256++."""

    def __init__(self, seed: int, stream: int) -> None:
        start = mix(seed) + mix(~stream & MASK)
        self._state = tuple(mix((start + step * GOLDEN) & MASK) for step in range(4))

    def next(self) -> int:
        """64 random bits."""
        a, b, c, d = self._state
        total = (a + d) & MASK
        result = (((total << 23) | (total >> 41)) + a) & MASK
        shifted = (b << 17) & MASK
        c ^= a
        d ^= b
        self._state = (a ^ d, b ^ c, c ^ shifted, ((d << 45) | (d >> 19)) & MASK)
        return result

    def below(self, bound: int) -> int:
        """A whole number from 0 to `bound` - 1."""
        return (self.next() * bound) >> 64
