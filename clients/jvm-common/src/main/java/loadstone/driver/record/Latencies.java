package loadstone.driver.record;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.IntCountsHistogram;

/**
 * A histogram of times in nanoseconds: 1 ns to 1 hour, 3 significant digits. It takes no memory until something is
 * recorded: a plan may have a thousand operations.
 */
final class Latencies {
  private static final long LONGEST_NS = 3_600_000_000_000L;

  private final boolean isSmall;
  private AbstractHistogram histogram;

  Latencies() {
    this(false);
  }

  /** {@code isSmall}: a quarter of the memory, for what a few seconds hold. */
  private Latencies(boolean isSmall) {
    this.isSmall = isSmall;
  }

  private AbstractHistogram there() {
    if (histogram == null) {
      histogram = isSmall ? new IntCountsHistogram(3) : new Histogram(1, LONGEST_NS, 3);
    }
    return histogram;
  }

  /** False if the time is too long to be held. */
  boolean record(long ns) {
    if (ns > LONGEST_NS) {
      return false;
    }
    there().recordValue(Math.max(0, ns));
    return true;
  }

  void add(Latencies other) {
    if (other.histogram != null) {
      there().add(other.histogram);
    }
  }

  /** HdrHistogram's V2 encoding, compressed, in base64. */
  String encode() {
    ByteBuffer buffer = ByteBuffer.allocate(there().getNeededByteBufferCapacity());
    int length = there().encodeIntoCompressedByteBuffer(buffer);
    return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
  }

  /** So many that nothing was recorded in. */
  static Latencies[] empty(int count) {
    return all(count, false);
  }

  /** So many for one interval. */
  static Latencies[] ofInterval(int count) {
    return all(count, true);
  }

  private static Latencies[] all(int count, boolean isSmall) {
    Latencies[] all = new Latencies[count];
    Arrays.setAll(all, number -> new Latencies(isSmall));
    return all;
  }
}
