package loadstone.driver.content;

/** xoshiro256++ (Blackman and Vigna 2021), seeded as the engine seeds it. For one thread; for load, not for secrets. */
public final class Rng {
  static final long GOLDEN = 0x9e3779b97f4a7c15L;

  private long s0;
  private long s1;
  private long s2;
  private long s3;

  /** The stream number {@code stream} of a seed. */
  public Rng(long seed, long stream) {
    long start = mix(seed) + mix(~stream);
    s0 = mix(start);
    s1 = mix(start + GOLDEN);
    s2 = mix(start + 2 * GOLDEN);
    s3 = mix(start + 3 * GOLDEN);
  }

  /** Scatters the bits of x: the step of SplitMix64. */
  public static long mix(long x) {
    long mixed = x + GOLDEN;
    mixed = (mixed ^ (mixed >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    return mixed ^ (mixed >>> 31);
  }

  public long nextLong() {
    long result = Long.rotateLeft(s0 + s3, 23) + s0;
    long shifted = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= shifted;
    s3 = Long.rotateLeft(s3, 45);
    return result;
  }

  /** A whole number from 0 to bound - 1; the bound is unsigned and above 0. */
  public long below(long bound) {
    long drawn = nextLong();
    // The upper half of the product of two unsigned numbers.
    return Math.multiplyHigh(drawn, bound) + ((drawn >> 63) & bound) + ((bound >> 63) & drawn);
  }

  /** A number from 0 (included) to 1 (excluded). */
  public double unit() {
    return (nextLong() >>> 11) * 0x1.0p-53;
  }

  /** An exponential variate with the mean 1. */
  public double exponential() {
    return -Math.log(1 - unit());
  }

  /** A standard normal variate, by the polar method (Marsaglia and Bray 1964). */
  public double normal() {
    while (true) {
      double x = 2 * unit() - 1;
      double y = 2 * unit() - 1;
      double square = x * x + y * y;
      if (square > 0 && square < 1) {
        return x * Math.sqrt(-2 * Math.log(square) / square);
      }
    }
  }
}
