package loadstone.driver.reply;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import loadstone.driver.Examples;
import loadstone.driver.client.Replies;
import loadstone.driver.content.Values;
import loadstone.driver.load.Request;
import loadstone.driver.plan.Plan.Documents;
import loadstone.driver.plan.Plan.Expect;
import loadstone.driver.plan.Plan.Verify;
import loadstone.driver.reply.Judge.Strict;
import org.junit.jupiter.api.Test;

class JudgeTest {
  private static final Values VALUES = new Values(5, new Documents(20, 4));

  private static Object reply(JsonObject json) {
    String kind = json.keySet().iterator().next();
    JsonElement value = json.get(kind);
    return switch (kind) {
      case "text" -> value.getAsString().getBytes(UTF_8);
      case "status" -> new Replies.Status(value.getAsString().getBytes(UTF_8));
      case "integer" -> value.getAsLong();
      case "nil" -> null;
      case "error" -> new Replies.ServerError(value.getAsString());
      case "items" -> items(value);
      default -> throw new IllegalArgumentException(kind);
    };
  }

  private static List<Object> items(JsonElement value) {
    List<Object> items = new ArrayList<>();
    value.getAsJsonArray().forEach(item -> items.add(item.getAsString().getBytes(UTF_8)));
    return items;
  }

  private static Judge judge(boolean replies, boolean countMismatch, boolean writesFields) {
    return new Judge(new Verify(replies, countMismatch, 0), VALUES, writesFields);
  }

  @Test
  void verdictsAreThoseOfTheContract() {
    JsonObject examples = Examples.read("verdicts.json");
    long key = examples.get("key").getAsLong();
    long version = examples.get("version").getAsLong();
    long newest = examples.get("newest").getAsLong();
    int judged = 0;
    for (JsonElement each : examples.getAsJsonArray("cases")) {
      JsonObject example = each.getAsJsonObject();
      Expect expect = Expect.valueOf(example.get("expect").getAsString().toUpperCase(Locale.ROOT));
      JsonElement strict = example.get("strict");
      Strict must = strict.isJsonNull() ? Strict.NO : Strict.valueOf(strict.getAsString().toUpperCase(Locale.ROOT));
      Request request = new Request(0, key, version, 0, example.get("known").getAsBoolean(), true);
      Judge judge = judge(true, true, example.get("writes_fields").getAsBoolean());
      String verdict = judge.judge(expect, must, request, () -> newest, reply(example.getAsJsonObject("reply")));
      assertEquals(example.get("verdict").getAsString(), verdict == null ? "ok" : verdict, example.toString());
      judged++;
    }
    assertTrue(judged > 40);
  }

  @Test
  void aMismatchIsIgnoredWhereThePlanSaysSoAndAnErrorIsNot() {
    Request request = new Request(0, 7, 3, 0, true, true);
    for (Judge judge : List.of(judge(false, true, false), judge(true, false, false))) {
      assertNull(judge.judge(Expect.OK, Strict.NO, request, () -> 3, 5L));
      assertEquals("server_oom",
          judge.judge(Expect.OK, Strict.NO, request, () -> 3, new Replies.ServerError("OOM command not allowed")));
    }
  }

  @Test
  void whatIsNoKindOfReplyIsOfAWrongType() {
    Request request = new Request(0, 7, 3, 0, true, true);
    for (Expect expect : Expect.values()) {
      String verdict = judge(true, true, false).judge(expect, Strict.NO, request, () -> 3, Replies.OTHER);
      assertEquals(expect == Expect.ANY ? null : "wrong_type", verdict);
    }
  }
}
