package loadstone.driver.content;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.HashSet;
import java.util.Set;
import loadstone.driver.Examples;
import loadstone.driver.plan.Plan.Documents;
import loadstone.driver.plan.Refused;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ContentTest {
  private static final Values VALUES = new Values(5, new Documents(20, 4));

  private static String text(Values.Slice slice) {
    return new String(slice.bytes(), slice.from(), slice.length(), UTF_8);
  }

  private static String render(String template, long key, long version, long seq, byte[] previous) {
    try {
      Template parsed = new Template.Parser("app:").parse(template, "args[1]");
      Template.Filling filling = new Template.Filling(VALUES, key, version, seq, previous, new long[] {3, 9});
      return new String(parsed.render(filling, new Text()), UTF_8);
    } catch (Refused refused) {
      throw new IllegalArgumentException(refused);
    }
  }

  private static String render(String template) {
    return render(template, 7, 3, 12, new byte[0]);
  }

  @Test
  void otherKeysOfAnOperationAreNamed() {
    assertEquals("app:000000000009/app:000000000007/app:000000000003", render("{key3}/{key}/{key2}"));
    assertEquals(2, Template.othersNamed("{key}:{key3}{{key9}}"));
    assertEquals(0, Template.othersNamed("{key}"));
  }

  @Test
  void randomNumbersAreTheEngines() {
    assertEquals(0xe220_a839_7b1d_cdafL, Rng.mix(0));
    assertEquals(0xc04c_e039_2daf_c386L, new Rng(1, 0).nextLong());
  }

  @Test
  void numbersBelowABoundKeepToIt() {
    Rng rng = new Rng(3, 1);
    Set<Long> drawn = new HashSet<>();
    for (int count = 0; count < 1000; count++) {
      long number = rng.below(5);
      assertTrue(number >= 0 && number < 5);
      drawn.add(number);
    }
    assertEquals(5, drawn.size());
  }

  @Test
  void textsAreThoseOfTheContract() {
    for (JsonElement each : Examples.read("texts.json").getAsJsonArray("plans")) {
      JsonObject plan = each.getAsJsonObject();
      Documents documents = new Documents(plan.get("payload_bytes").getAsInt(), plan.get("field_bytes").getAsInt());
      Values values = new Values(plan.get("seed").getAsLong(), documents);
      for (JsonElement one : plan.getAsJsonArray("cases")) {
        check(values, one.getAsJsonObject());
      }
    }
  }

  private static void check(Values values, JsonObject expected) {
    long key = expected.get("key").getAsLong();
    long version = expected.get("version").getAsLong();
    Text document = new Text();
    values.writeDocument(key, version, document);
    String whole = new String(document.toBytes(), UTF_8);
    assertEquals(expected.get("field").getAsString(), text(values.field(key, version)));
    assertTrue(text(values.value(key, version)).startsWith(expected.get("value").getAsString()));
    assertTrue(text(values.body(key, version)).endsWith(expected.get("body").getAsString()));
    assertEquals(expected.get("document_bytes").getAsInt(), whole.length());
    if (expected.has("document")) {
      assertEquals(expected.get("document").getAsString(), whole);
    }
    Values.Parts parts = values.read(Values.Slice.of(document.toBytes()));
    assertEquals(key, parts.id().number());
    assertEquals(version, parts.version().number());
    assertTrue(parts.body().same(values.body(key, version)));
  }

  @Test
  void eachPlaceholderIsFilled() {
    String document = render("{document}");
    assertEquals("app:000000000007", render("{key}"));
    assertEquals("000000000007/0000000003", render("{id}/{version}"));
    assertEquals("\"" + render("{field}") + "\"", render("{field_json}"));
    assertTrue(document.endsWith("\"field\":\"" + render("{field}") + "\",\"body\":\"" + render("{body}") + "\"}"));
    assertEquals(20, render("{value}").length());
    assertEquals("12", render("{seq}"));
    assertEquals("", render(""));
    String changed = render("{changed}", 7, 4, 12, document.getBytes(UTF_8));
    assertTrue(changed.contains(render("{field}", 7, 4, 0, new byte[0])));
    assertTrue(changed.contains("0000000003"));
    assertEquals(render("{document}", 7, 4, 0, new byte[0]), render("{changed}", 7, 4, 0, "x".getBytes(UTF_8)));
  }

  @Test
  void doubleBracesAreLiteral() {
    assertEquals("{\"id\":\"000000000007\",\"in\":{}}", render("{{\"id\":\"{id}\",\"in\":{{}}}}"));
    assertEquals("{key}", render("{{key}}"));
    assertEquals("größe {", render("größe {{"));
  }

  @Test
  void randomPartsKeepToTheirRangeAndDiffer() {
    Set<Long> drawn = new HashSet<>();
    for (int seq = 0; seq < 200; seq++) {
      drawn.add(Long.parseLong(render("{uniform -2..2}", 1, 1, seq, new byte[0])));
      assertTrue(render("{random 10 lowercase}", 1, 1, seq, new byte[0]).matches("[a-z]{10}"));
    }
    assertEquals(Set.of(-2L, -1L, 0L, 1L, 2L), drawn);
    String[] two = render("{random 12 lowercase} {random 12 lowercase}").split(" ");
    assertNotEquals(two[0], two[1]);
  }

  @ParameterizedTest
  @ValueSource(strings = {"{", "{key", "a}", "{key x}", "{}", "{uniform}", "{uniform 1..x}", "{random 10}", "{data.x}"})
  void whatIsNoPlaceholderIsRefusedWithItsPlace(String template) {
    Refused refused = assertThrows(
        Refused.class, () -> new Template.Parser("k:").parse(template, "operations[0].commands[1].args[2]"));
    assertTrue(refused.getMessage().startsWith("operations[0].commands[1].args[2]: "), refused.getMessage());
  }
}
