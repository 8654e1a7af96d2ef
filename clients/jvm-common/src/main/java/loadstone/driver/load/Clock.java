package loadstone.driver.load;

import java.time.Instant;

/** The clock that latencies are measured by, and what the wall clock said when the program began. */
public final class Clock {
  private static final long WALL_AHEAD_NS;
  /** Added to any reading it is still a number of the clock. */
  private static final double LONGEST_S = 4e9;

  static {
    Instant wall = Instant.now();
    WALL_AHEAD_NS = wall.getEpochSecond() * 1_000_000_000L + wall.getNano() - System.nanoTime();
  }

  private Clock() {}

  public static long now() {
    return System.nanoTime();
  }

  public static long toUnixNs(long ns) {
    return ns + WALL_AHEAD_NS;
  }

  public static long fromUnixNs(long unixNs) {
    return unixNs - WALL_AHEAD_NS;
  }

  /** In nanoseconds; a century stands for whatever is longer. */
  public static long fromS(double seconds) {
    return (long) (Math.min(seconds, LONGEST_S) * 1e9);
  }

  public static double toS(long ns) {
    return ns / 1e9;
  }

  /** The smallest step between two different readings. */
  public static long quantumNs() {
    long smallest = Long.MAX_VALUE;
    for (int step = 0; step < 1000; step++) {
      long before = now();
      long after = now();
      while (after == before) {
        after = now();
      }
      smallest = Math.min(smallest, after - before);
    }
    return smallest;
  }
}
