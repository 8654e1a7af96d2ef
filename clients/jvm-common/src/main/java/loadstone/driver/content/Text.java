package loadstone.driver.content;

import java.util.Arrays;

/** Bytes that grow; used again and again by one thread. */
public final class Text {
  private byte[] bytes = new byte[256];
  private int length;

  public void clear() {
    length = 0;
  }

  public byte[] toBytes() {
    return Arrays.copyOf(bytes, length);
  }

  public void add(byte[] added) {
    add(added, 0, added.length);
  }

  public void add(byte[] source, int from, int count) {
    reserve(count);
    System.arraycopy(source, from, bytes, length, count);
    length += count;
  }

  public void add(byte letter) {
    reserve(1);
    bytes[length++] = letter;
  }

  /** The last digits of a number, with leading zeros. */
  public void addDigits(long number, int digits) {
    reserve(digits);
    long rest = number;
    for (int at = length + digits - 1; at >= length; at--) {
      bytes[at] = (byte) ('0' + rest % 10);
      rest /= 10;
    }
    length += digits;
  }

  private void reserve(int count) {
    if (length + count > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(length + count, 2 * bytes.length));
    }
  }
}
