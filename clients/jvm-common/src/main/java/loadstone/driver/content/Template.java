package loadstone.driver.content;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import loadstone.driver.plan.Refused;

/** An argument of a command with its placeholders, parsed once. For all threads. */
public final class Template {
  private static final Pattern UNIFORM = Pattern.compile("uniform\\s+(-?\\d+)\\s*\\.\\.\\s*(-?\\d+)\\s*");
  private static final Pattern OTHER = Pattern.compile("key([1-9]\\d{0,4})");
  private static final Pattern NAMED = Pattern.compile("\\{\\{|\\{key([1-9]\\d{0,4})\\}");
  private static final Pattern RANDOM = Pattern.compile("random\\s+(\\d{1,8})\\s+lowercase");

  /** What the placeholders of one command stand for; {@code previous}: the last reply's text of its operation;
   * {@code others}: the operation's other keys. */
  public record Filling(Values values, long key, long version, long seq, byte[] previous, long[] others) {}

  private interface Part {
    void write(Filling filling, Text out);
  }

  /** Null if the argument has placeholders. */
  private final byte[] constant;
  private final List<Part> parts;

  private Template(byte[] constant, List<Part> parts) {
    this.constant = constant;
    this.parts = parts;
  }

  /** How many keys an argument names beside {@code {key}}. */
  public static int othersNamed(String text) {
    return NAMED.matcher(text).results().filter(one -> one.group(1) != null)
        .mapToInt(one -> Integer.parseInt(one.group(1)) - 1).max().orElse(0);
  }

  /** What the argument is; {@code scratch} is only there to be reused. */
  public byte[] render(Filling filling, Text scratch) {
    if (constant != null) {
      return constant;
    }
    scratch.clear();
    for (Part part : parts) {
      part.write(filling, scratch);
    }
    return scratch.toBytes();
  }

  /** Parses the arguments of a plan's commands. */
  public static final class Parser {
    private final String prefix;
    private long salt;
    private final List<Part> parts = new ArrayList<>();
    private final StringBuilder literal = new StringBuilder();

    public Parser(String prefix) {
      this.prefix = prefix;
    }

    /** The template of a text, which stands in the plan's {@code field}. */
    public Template parse(String text, String field) throws Refused {
      parts.clear();
      int at = 0;
      while (at < text.length()) {
        char letter = text.charAt(at);
        boolean twice = at + 1 < text.length() && text.charAt(at + 1) == letter;
        if (letter != '{' && letter != '}') {
          literal.append(letter);
          at++;
        } else if (twice) {
          literal.append(letter);
          at += 2;
        } else {
          int end = letter == '{' ? text.indexOf('}', at) : -1;
          if (end < 0) {
            throw new Refused(field, "`" + text + "`: a lone brace; write {{ or }} for a brace");
          }
          place(text.substring(at + 1, end), field);
          at = end + 1;
        }
      }
      if (parts.isEmpty()) {
        byte[] constant = literal.toString().getBytes(UTF_8);
        literal.setLength(0);
        return new Template(constant, List.of());
      }
      endLiteral();
      return new Template(null, List.copyOf(parts));
    }

    private void add(Part part) {
      endLiteral();
      parts.add(part);
    }

    private void endLiteral() {
      if (!literal.isEmpty()) {
        byte[] bytes = literal.toString().getBytes(UTF_8);
        literal.setLength(0);
        parts.add((filling, out) -> out.add(bytes));
      }
    }

    private void place(String name, String field) throws Refused {
      switch (name) {
        case "key" -> {
          literal.append(prefix);
          add((filling, out) -> out.addDigits(filling.key, Values.ID_DIGITS));
        }
        case "id" -> add((filling, out) -> out.addDigits(filling.key, Values.ID_DIGITS));
        case "version" -> add((filling, out) -> out.addDigits(filling.version, Values.VERSION_DIGITS));
        case "document" -> add((filling, out) -> filling.values.writeDocument(filling.key, filling.version, out));
        case "field" -> add(Parser::writeField);
        case "field_json" -> {
          literal.append('"');
          add(Parser::writeField);
          literal.append('"');
        }
        case "body" -> add((filling, out) -> Values.write(filling.values.body(filling.key, filling.version), out));
        case "value" -> add((filling, out) -> Values.write(filling.values.value(filling.key, filling.version), out));
        case "changed" -> add((filling, out) ->
            filling.values.writeChanged(filling.previous, filling.key, filling.version, out));
        case "seq" -> add((filling, out) -> out.add(Long.toString(filling.seq).getBytes(UTF_8)));
        default -> add(other(name, field));
      }
    }

    private static void writeField(Filling filling, Text out) {
      Values.write(filling.values.field(filling.key, filling.version), out);
    }

    private Part other(String name, String field) throws Refused {
      Matcher other = OTHER.matcher(name);
      if (!other.matches() || other.group(1).equals("1")) {
        return random(name, field);
      }
      int place = Integer.parseInt(other.group(1)) - 2;
      literal.append(prefix);
      return (filling, out) -> out.addDigits(filling.others[place], Values.ID_DIGITS);
    }

    private Part random(String name, String field) throws Refused {
      Matcher uniform = UNIFORM.matcher(name);
      Matcher random = RANDOM.matcher(name);
      long salted = Rng.mix(++salt);
      if (uniform.matches()) {
        long low = Long.parseLong(uniform.group(1));
        long span = Long.parseLong(uniform.group(2)) - low + 1;
        if (span < 1) {
          throw new Refused(field, "{" + name + "}: needs the smaller number first");
        }
        return (filling, out) -> {
          long drawn = low + new Rng(filling.values.seed() ^ salted, filling.seq).below(span);
          out.add(Long.toString(drawn).getBytes(UTF_8));
        };
      }
      if (random.matches() && Integer.parseInt(random.group(1)) > 0) {
        int letters = Integer.parseInt(random.group(1));
        return (filling, out) -> {
          Rng rng = new Rng(filling.values.seed() ^ salted, filling.seq);
          for (int letter = 0; letter < letters; letter++) {
            out.add((byte) ('a' + rng.below(26)));
          }
        };
      }
      throw new Refused(field, "{" + name + "}: this driver does not know it");
    }
  }
}
