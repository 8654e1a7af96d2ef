package loadstone.driver.reply;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import loadstone.driver.client.Replies;
import loadstone.driver.content.Values;
import loadstone.driver.content.Values.Parts;
import loadstone.driver.content.Values.Slice;
import loadstone.driver.load.Request;
import loadstone.driver.plan.Plan.Expect;
import loadstone.driver.plan.Plan.Verify;

/** Whether a reply is correct: compared with the text that its key and version have. For all threads. */
public final class Judge {
  private static final String WRONG_REPLY = "wrong_reply";
  private static final String WRONG_TYPE = "wrong_type";
  private static final byte[] OK = {'O', 'K'};

  /** What must be there because nothing else was written since: that of the request's version. */
  public enum Strict { NO, DOCUMENT, FIELD, VALUE }

  private final Verify verify;
  private final Values values;
  private final boolean writesFields;

  /** {@code writesFields}: an operation of the plan changes fields apart from their documents. */
  public Judge(Verify verify, Values values, boolean writesFields) {
    this.verify = verify;
    this.values = values;
    this.writesFields = writesFields;
  }

  /** The kind of the error; null if the reply is correct. {@code newest}: the key's newest version that was begun. */
  public String judge(Expect expect, Strict strict, Request request, LongSupplier newest, Object reply) {
    if (reply instanceof Replies.ServerError error) {
      return ServerErrors.kind(error.text());
    }
    if (!verify.replies()) {
      return null;
    }
    String verdict = new Comparison(strict, request, newest).compare(expect, reply);
    return verify.countMismatch() ? verdict : null;
  }

  private static String correct(boolean isCorrect) {
    return isCorrect ? null : WRONG_REPLY;
  }

  /** One reply to one request. */
  private final class Comparison {
    private final Strict strict;
    private final Request request;
    private final LongSupplier newest;

    Comparison(Strict strict, Request request, LongSupplier newest) {
      this.strict = strict;
      this.request = request;
      this.newest = newest;
    }

    String compare(Expect expect, Object reply) {
      return switch (expect) {
        case ANY -> null;
        case OK -> ok(reply);
        case INTEGER -> reply instanceof Long ? null : WRONG_TYPE;
        case POSITIVE -> reply instanceof Long number ? (number >= 1 ? null : "not_positive") : WRONG_TYPE;
        case ITEM -> reply == null ? "nil_reply" : reply instanceof byte[] ? null : WRONG_TYPE;
        case HASH -> hash(reply);
        case VALUE, DOCUMENT, FIELD, FIELD_ARRAY -> text(expect, reply);
      };
    }

    private String ok(Object reply) {
      Object text = reply instanceof Replies.Status status ? status.text() : reply;
      return text instanceof byte[] bytes ? correct(Arrays.equals(bytes, OK)) : WRONG_TYPE;
    }

    private String text(Expect expect, Object reply) {
      if (reply == null) {
        return expect == Expect.VALUE && strict == Strict.NO ? null : absent();
      }
      if (!(reply instanceof byte[] bytes)) {
        return WRONG_TYPE;
      }
      Slice text = Slice.of(bytes);
      return switch (expect) {
        case VALUE -> correct(strict == Strict.VALUE
            ? text.same(values.value(request.key(), request.version()))
            : bytes.length == values.payloadBytes());
        case FIELD -> correct(isField(text));
        case FIELD_ARRAY -> fieldArray(bytes);
        default -> document(bytes);
      };
    }

    /** The key, or the field, is not there. */
    private String absent() {
      return request.known() || strict != Strict.NO ? "missing" : null;
    }

    private String fieldArray(byte[] bytes) {
      int length = bytes.length;
      if (length == 2 && bytes[0] == '[' && bytes[1] == ']') {
        return absent();
      }
      boolean quoted = length >= 4 && bytes[0] == '[' && bytes[1] == '"' && bytes[length - 2] == '"'
          && bytes[length - 1] == ']';
      return correct(quoted && isField(new Slice(bytes, 2, length - 4)));
    }

    private String document(byte[] bytes) {
      // A JSONPath answers with a list of what it found.
      boolean listed = bytes.length >= 2 && bytes[0] == '[' && bytes[bytes.length - 1] == ']';
      Slice text = listed ? new Slice(bytes, 1, bytes.length - 2) : Slice.of(bytes);
      Parts parts = values.read(text);
      return correct(areParts(parts == null ? looseParts(text) : parts));
    }

    private String hash(Object reply) {
      if (reply == null) {
        return absent();
      }
      if (!(reply instanceof List<?> items)) {
        return WRONG_TYPE;
      }
      return items.isEmpty() ? absent() : correct(areParts(hashParts(items)));
    }

    private boolean areParts(Parts parts) {
      if (parts == null) {
        return false;
      }
      long version = parts.version().number();
      boolean versionIsCorrect = strict == Strict.DOCUMENT
          ? version == request.version()
          : version >= 1 && version <= newest.getAsLong();
      return parts.id().number() == request.key()
          && parts.id().length() == Values.ID_DIGITS
          && versionIsCorrect
          && parts.body().same(values.body(request.key(), version))
          && isField(parts.field(), version);
    }

    /** A field that is on its own. */
    private boolean isField(Slice text) {
      return strict == Strict.NO || strict == Strict.VALUE
          ? values.isSomeField(text)
          : text.same(values.field(request.key(), request.version()));
    }

    /** A field in a document of this version. */
    private boolean isField(Slice text, long version) {
      boolean isStrict = strict == Strict.FIELD || strict == Strict.DOCUMENT;
      return isStrict || writesFields ? isField(text) : text.same(values.field(request.key(), version));
    }
  }

  /** The document of a server that stores JSON in an order, or with spaces, of its own. */
  private static Parts looseParts(Slice text) {
    JsonElement json;
    try {
      json = JsonParser.parseString(new String(text.bytes(), text.from(), text.length(), UTF_8));
    } catch (JsonParseException error) {
      return null;
    }
    if (!(json instanceof JsonObject object) || object.size() != Values.CONSTANTS.size() + Values.partNames().size()) {
      return null;
    }
    for (Map.Entry<String, JsonElement> member : object.entrySet()) {
      boolean isText = member.getValue().isJsonPrimitive() && member.getValue().getAsJsonPrimitive().isString();
      String constant = Values.CONSTANTS.get(member.getKey());
      if (!isText || constant != null && !constant.equals(member.getValue().getAsString())) {
        return null;
      }
    }
    Slice[] found = new Slice[Values.partNames().size()];
    for (int part = 0; part < found.length; part++) {
      JsonElement value = object.get(Values.partNames().get(part));
      if (value == null) {
        return null;
      }
      found[part] = Slice.of(value.getAsString().getBytes(UTF_8));
    }
    return new Parts(found[0], found[1], found[2], found[3]);
  }

  /** The parts of a document that is stored as a hash, in any order; its constant fields may be left out. */
  private static Parts hashParts(List<?> items) {
    if (items.size() % 2 != 0) {
      return null;
    }
    Slice[] found = new Slice[Values.partNames().size()];
    for (int at = 0; at < items.size(); at += 2) {
      if (!(items.get(at) instanceof byte[] name) || !(items.get(at + 1) instanceof byte[] value)) {
        return null;
      }
      String text = new String(name, ISO_8859_1);
      int part = Values.partNames().indexOf(text);
      if (part >= 0) {
        found[part] = Slice.of(value);
      } else if (!new String(value, ISO_8859_1).equals(Values.CONSTANTS.get(text))) {
        return null;
      }
    }
    boolean complete = Arrays.stream(found).allMatch(slice -> slice != null);
    return complete ? new Parts(found[0], found[1], found[2], found[3]) : null;
  }
}
