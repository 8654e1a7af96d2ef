package loadstone.driver.content;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import loadstone.driver.plan.Plan.Documents;

/**
 * The contents of documents, fields and values: cut out of one block of random letters, so that they follow from seed,
 * key and version and are the same in every driver (docs/driver-contract.md). Nothing changes; for all threads.
 */
public final class Values {
  public static final int ID_DIGITS = 12;
  public static final int VERSION_DIGITS = 10;
  /** Fields that are the same in every document. */
  public static final Map<String, String> CONSTANTS =
      Map.of("type", "document", "author", "loadstone", "state", "current");

  static final byte[] BEFORE_ID = ascii("{\"id\":\"");
  static final byte[] BEFORE_VERSION = ascii("\",\"version\":\"");
  static final byte[] BEFORE_FIELD =
      ascii("\",\"type\":\"document\",\"author\":\"loadstone\",\"state\":\"current\",\"field\":\"");
  static final byte[] BEFORE_BODY = ascii("\",\"body\":\"");
  static final byte[] AFTER_BODY = ascii("\"}");

  private static final int VERSION_AT = BEFORE_ID.length + ID_DIGITS + BEFORE_VERSION.length;
  private static final int FIELD_AT = VERSION_AT + VERSION_DIGITS + BEFORE_FIELD.length;
  private static final int ENVELOPE_BYTES = FIELD_AT + BEFORE_BODY.length + AFTER_BODY.length;
  private static final byte[] ALPHABET = ascii("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
  private static final int PLACES = 1 << 16;
  private static final int FIELD = 0;
  private static final int BODY = 1;
  private static final int VALUE = 2;

  private final byte[] block;
  private final long seed;
  private final int payloadBytes;
  private final int fieldBytes;

  /** A piece of a text. */
  public record Slice(byte[] bytes, int from, int length) {
    public static Slice of(byte[] bytes) {
      return new Slice(bytes, 0, bytes.length);
    }

    public boolean same(Slice other) {
      return Arrays.equals(bytes, from, from + length, other.bytes, other.from, other.from + other.length);
    }

    /** The decimal number that the text is; -1 for anything else. */
    public long number() {
      long sum = length == 0 || length > 18 ? -1 : 0;
      for (int at = from; sum >= 0 && at < from + length; at++) {
        int digit = bytes[at] - '0';
        sum = digit >= 0 && digit < 10 ? 10 * sum + digit : -1;
      }
      return sum;
    }
  }

  /** The parts of a document that differ from one to another. */
  public record Parts(Slice id, Slice version, Slice field, Slice body) {}

  /** Takes 64 KiB and the payload's length of memory. */
  public Values(long seed, Documents documents) {
    this.seed = seed;
    payloadBytes = documents.payloadBytes();
    fieldBytes = documents.fieldBytes();
    block = new byte[PLACES + payloadBytes];
    Rng rng = new Rng(seed, -1);
    for (int at = 0; at < block.length; at += 8) {
      long random = rng.nextLong();
      for (int letter = at; letter < Math.min(at + 8, block.length); letter++, random >>>= 8) {
        block[letter] = ALPHABET[((int) (random & 0xff) * ALPHABET.length) >> 8];
      }
    }
  }

  private static byte[] ascii(String text) {
    return text.getBytes(US_ASCII);
  }

  public long seed() {
    return seed;
  }

  public int payloadBytes() {
    return payloadBytes;
  }

  public Slice field(long key, long version) {
    return cut(key, version, FIELD, fieldBytes);
  }

  public Slice body(long key, long version) {
    return cut(key, version, BODY, payloadBytes - fieldBytes);
  }

  public Slice value(long key, long version) {
    return cut(key, version, VALUE, payloadBytes);
  }

  private Slice cut(long key, long version, int content, int length) {
    long ofKey = Rng.mix(seed ^ key * Rng.GOLDEN);
    int place = (int) (Rng.mix(ofKey ^ (version << 2 | content)) & (PLACES - 1));
    return new Slice(block, place, length);
  }

  void writeDocument(long key, long version, Text out) {
    out.add(BEFORE_ID);
    out.addDigits(key, ID_DIGITS);
    out.add(BEFORE_VERSION);
    out.addDigits(version, VERSION_DIGITS);
    out.add(BEFORE_FIELD);
    write(field(key, version), out);
    out.add(BEFORE_BODY);
    write(body(key, version), out);
    out.add(AFTER_BODY);
  }

  /** The text with its field replaced by that of the version; the whole document where the text is none of ours. */
  void writeChanged(byte[] text, long key, long version, Text out) {
    if (read(Slice.of(text)) == null) {
      writeDocument(key, version, out);
      return;
    }
    int rest = FIELD_AT + fieldBytes;
    out.add(text, 0, FIELD_AT);
    write(field(key, version), out);
    out.add(text, rest, text.length - rest);
  }

  static void write(Slice slice, Text out) {
    out.add(slice.bytes(), slice.from(), slice.length());
  }

  /** The parts of a text that is laid out as a document of this plan, whatever stands in them; else null. */
  public Parts read(Slice text) {
    if (text.length() != payloadBytes + ENVELOPE_BYTES) {
      return null;
    }
    int bodyAt = FIELD_AT + fieldBytes + BEFORE_BODY.length;
    int bodyBytes = payloadBytes - fieldBytes;
    boolean fits = holds(text, 0, BEFORE_ID)
        && holds(text, BEFORE_ID.length + ID_DIGITS, BEFORE_VERSION)
        && holds(text, VERSION_AT + VERSION_DIGITS, BEFORE_FIELD)
        && holds(text, FIELD_AT + fieldBytes, BEFORE_BODY)
        && holds(text, bodyAt + bodyBytes, AFTER_BODY);
    if (!fits) {
      return null;
    }
    return new Parts(
        part(text, BEFORE_ID.length, ID_DIGITS),
        part(text, VERSION_AT, VERSION_DIGITS),
        part(text, FIELD_AT, fieldBytes),
        part(text, bodyAt, bodyBytes));
  }

  private static Slice part(Slice text, int at, int length) {
    return new Slice(text.bytes(), text.from() + at, length);
  }

  private static boolean holds(Slice text, int at, byte[] expected) {
    int from = text.from() + at;
    return Arrays.equals(text.bytes(), from, from + expected.length, expected, 0, expected.length);
  }

  /** Whether a text could be the field of some version: its length, letters and digits. */
  public boolean isSomeField(Slice text) {
    boolean all = text.length() == fieldBytes;
    for (int at = text.from(); all && at < text.from() + text.length(); at++) {
      int letter = text.bytes()[at];
      all = letter >= '0' && letter <= '9' || letter >= 'A' && letter <= 'Z' || letter >= 'a' && letter <= 'z';
    }
    return all;
  }

  /** The digits of a key's number, as keys and documents have them. */
  public static byte[] id(long key) {
    Text text = new Text();
    text.addDigits(key, ID_DIGITS);
    return text.toBytes();
  }

  /** The names of the parts of a document that differ, in the order of {@link Parts}. */
  public static List<String> partNames() {
    return List.of("id", "version", "field", "body");
  }
}
