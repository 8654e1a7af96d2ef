package loadstone.driver.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongUnaryOperator;
import loadstone.driver.Examples;
import loadstone.driver.client.CallFailed;
import loadstone.driver.client.CallFailed.Kind;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Plan.Closed;
import loadstone.driver.plan.Plan.Phases;
import loadstone.driver.plan.Plan.RampUp;
import loadstone.driver.plan.Plan.ThinkTime;
import loadstone.driver.plan.Refused;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 30, unit = TimeUnit.SECONDS)
class DriveTest {
  private final List<JsonObject> intervals = Collections.synchronizedList(new ArrayList<>());

  /** The example with two commands an operation, on eight keys that may be there, short. */
  private static JsonObject plan() {
    JsonObject json = Examples.plan("string-update");
    json.getAsJsonObject("keys").addProperty("count", 8);
    json.getAsJsonObject("keys").addProperty("loaded", false);
    json.getAsJsonObject("phases").addProperty("warm_up_s", 0.05);
    json.getAsJsonObject("phases").addProperty("measure_s", 0.2);
    json.addProperty("interval_s", 0.1);
    return json;
  }

  private static JsonObject open(JsonObject json, double ratePerS, long backlogMax) {
    JsonObject model = Examples.plan("open").getAsJsonObject("model");
    model.add("schedule", new JsonArray());
    model.addProperty("rate_per_s", ratePerS);
    model.addProperty("arrivals", "constant");
    model.addProperty("backlog_max", backlogMax);
    json.add("model", model);
    return json;
  }

  private JsonObject run(JsonObject json, StoreClient client) throws Refused, InterruptedException {
    JsonObject record = new Drive(Examples.read(json), client, intervals::add).run();
    requireConserved(record);
    return record;
  }

  /** Nothing is lost: in the whole, of the measure phase, and over the intervals. */
  private void requireConserved(JsonObject record) {
    JsonObject total = record.getAsJsonObject("total");
    requireConserved(total, "total");
    record.getAsJsonObject("operations").asMap().forEach((name, one) ->
        requireConserved(one.getAsJsonObject().getAsJsonObject("counts"), name));
    for (String count : List.of("offered", "sent", "ok", "timeouts", "dropped")) {
      long sum = intervals.stream()
          .flatMap(interval -> interval.getAsJsonObject("operations").asMap().values().stream())
          .mapToLong(operation -> operation.getAsJsonObject().get(count).getAsLong()).sum();
      assertEquals(total.get(count).getAsLong(), sum, count);
    }
  }

  private static void requireConserved(JsonObject counts, String what) {
    long errors = counts.getAsJsonObject("errors").asMap().values().stream().mapToLong(JsonElement::getAsLong).sum();
    long sent = number(counts, "ok") + errors + number(counts, "timeouts") + number(counts, "in_flight");
    long offered = number(counts, "sent") + number(counts, "dropped") + number(counts, "unsent");
    assertEquals(number(counts, "sent"), sent, what);
    assertEquals(number(counts, "offered"), offered, what);
  }

  private static long number(JsonObject json, String name) {
    return json.get(name).getAsLong();
  }

  private static JsonObject of(JsonObject json, String... names) {
    JsonObject found = json;
    for (String name : names) {
      found = found.getAsJsonObject(name);
    }
    return found;
  }

  /** A client to whose calls something happens, by their number. */
  private static StoreClient failing(int size, Kind kind, LongUnaryOperator fails) {
    return new StoreClient(size) {
      @Override
      void before(long call) throws CallFailed {
        if (fails.applyAsLong(call) != 0) {
          throw new CallFailed(kind, "on purpose");
        }
      }
    };
  }

  @Test
  void usersReadChangeAndWrite() throws Exception {
    StoreClient client = new StoreClient(4);
    JsonObject record = run(plan(), client);
    JsonObject total = of(record, "total");
    long replied = number(of(record, "commands", "GET"), "replied") + number(of(record, "commands", "SET"), "replied");
    assertTrue(number(total, "ok") > 100);
    assertEquals(number(total, "ok"), number(total, "sent"));
    assertEquals(client.calls.get(), replied);
    assertTrue(number(of(record, "read_back"), "checked") > 0);
    assertEquals(0, number(of(record, "read_back"), "wrong"));
    assertTrue(client.mostAtOnce.get() <= 4);
    assertTrue(record.get("stopped").isJsonNull());
    assertEquals(List.of("warm_up", "measure", "drain"),
        intervals.stream().map(interval -> interval.get("phase").getAsString()).distinct().toList());
  }

  @Test
  void eachUserHasItsNumberOfOperations() throws Exception {
    JsonObject json = plan();
    of(json, "model").addProperty("operations_per_user", 25);
    of(json, "phases").addProperty("warm_up_s", 0);
    JsonObject record = run(json, new StoreClient(2));
    assertEquals(4 * 25, number(of(record, "total"), "offered"));
    assertEquals(4 * 25, number(of(record, "operations", "update"), "window_ok"));
  }

  @Test
  void eachKeyIsTakenOnce() throws Exception {
    for (JsonObject json : List.of(plan(), open(plan(), 5000, 10_000))) {
      of(json, "keys").addProperty("count", 300);
      of(json, "keys").addProperty("distribution", "exactly_once");
      intervals.clear();
      assertEquals(300, number(of(run(json, new StoreClient(2)), "total"), "ok"));
    }
  }

  @Test
  void theMeasurePhaseGoesOnUntilEnoughOperationsEnded() throws Exception {
    JsonObject json = open(plan(), 400, 100);
    of(json, "phases").addProperty("measure_operations", 200);
    of(json, "phases").addProperty("measure_max_s", 20);
    JsonObject record = run(json, new StoreClient(2));
    long measured = number(of(record, "operations", "update", "counts"), "ok");
    JsonObject times = of(record, "phases", "measure");
    assertTrue(measured >= 200 && measured < 400, "measured " + measured);
    assertTrue(times.get("end_s").getAsDouble() - times.get("start_s").getAsDouble() < 20);
  }

  @Test
  void arrivalsComeByTheirScheduleAndWaitForTheirConnection() throws Exception {
    JsonObject json = open(plan(), 1000, 100);
    JsonObject record = run(json, new StoreClient(1));
    assertEquals(250, number(of(record, "total"), "offered"), 1);
    assertEquals(200, number(of(record, "operations", "update", "counts"), "offered"), 1);
    assertFalse(record.get("pool_wait_histogram").getAsString().isEmpty());
  }

  @Test
  void arrivalsAreDroppedWhereTooManyWait() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    JsonObject json = open(plan(), 1000, 20);
    of(json, "phases").addProperty("drain_s", 0.01);
    JsonObject record = run(json, new StoreClient(2) {
      @Override
      void before(long call) {
        try {
          never.await();
        } catch (InterruptedException interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    });
    JsonObject total = of(record, "total");
    assertEquals(2, number(total, "in_flight"));
    assertEquals(20, number(total, "unsent"));
    assertEquals(number(total, "offered") - 22, number(total, "dropped"));
    JsonObject measured = of(record, "operations", "update");
    long earlierMs = number(measured, "earlier_ns") / 1_000_000;
    assertTrue(earlierMs > 0 && earlierMs <= 22 * 200, "those that began before the measure phase: " + earlierMs);
  }

  @Test
  void aLostConnectionIsAnErrorAndATimeoutIsCountedApart() throws Exception {
    JsonObject lost = run(plan(), failing(4, Kind.CONNECTION_RESET, call -> call % 50 == 0 ? 1 : 0));
    assertTrue(number(of(lost, "total", "errors"), "connection_reset") > 0);
    assertTrue(lost.get("stopped").isJsonNull());
    intervals.clear();
    JsonObject late = run(plan(), failing(4, Kind.TIMEOUT, call -> call % 50 == 0 ? 1 : 0));
    assertTrue(number(of(late, "total"), "timeouts") > 0);
    assertTrue(of(late, "total", "errors").isEmpty());
  }

  @Test
  void aServerThatIsGoneEndsTheLoad() throws Exception {
    JsonObject json = plan();
    of(json, "phases").addProperty("measure_s", 25);
    of(json, "timeouts").addProperty("gone_s", 0.2);
    JsonObject record = run(json, new StoreClient(4) {
      @Override
      void beforeTaking() throws CallFailed {
        if (calls.get() > 100) {
          throw new CallFailed(Kind.CONNECTION_REFUSED, "Connection refused");
        }
      }
    });
    assertEquals("server gone: no connection for 0.2 s, last: Connection refused", record.get("stopped").getAsString());
    assertTrue(number(of(record, "total", "errors"), "connection_refused") > 0);
    assertEquals(0, number(of(record, "read_back"), "checked"));
  }

  @Test
  void aWrongReplyEndsItsOperation() throws Exception {
    JsonObject json = plan();
    json.getAsJsonArray("operations").get(0).getAsJsonObject().getAsJsonArray("commands").get(0).getAsJsonObject()
        .add("args", JsonParser.parseString("[\"LPOP\", \"{key}\"]"));
    JsonObject record = run(json, new StoreClient(4));
    assertEquals(number(of(record, "total"), "sent"), number(of(record, "total", "errors"), "server_err"));
    assertEquals(0, number(of(record, "commands", "SET"), "sent"));
  }

  @Test
  void aStopEndsTheLoadAtOnce() throws Exception {
    JsonObject json = plan();
    of(json, "phases").addProperty("measure_s", 25);
    Drive[] drive = new Drive[1];
    drive[0] = new Drive(Examples.read(json), new StoreClient(4), interval -> {
      intervals.add(interval);
      drive[0].stop(Drive.STOPPED);
    });
    JsonObject record = drive[0].run();
    requireConserved(record);
    assertEquals(Drive.STOPPED, record.get("stopped").getAsString());
  }

  @Test
  void whatBreaksADriverIsKept() throws Exception {
    Drive drive = new Drive(Examples.read(plan()), new StoreClient(4) {
      @Override
      void before(long call) {
        throw new IllegalStateException("broken on purpose");
      }
    }, intervals::add);
    drive.run();
    assertEquals("broken on purpose", drive.broken().getMessage());
  }

  @Test
  void usersStartInStepsOrSpreadEvenly() {
    Phases phases = new Phases(10, 0, 1, null, null, 1);
    Closed even = new Closed(20, 0, ThinkTime.CONSTANT, null, null);
    Closed steps = new Closed(10, 0, ThinkTime.CONSTANT, new RampUp(3, 2, 1), null);
    assertEquals(5_000_000_000L, Users.startNs(even, phases, 10));
    long[] expected = {0, 0, 0, 1, 1, 2, 2, 3, 3, 4};
    for (int user = 0; user < expected.length; user++) {
      assertEquals(expected[user] * 1_000_000_000L, Users.startNs(steps, phases, user), "user " + user);
    }
  }

  @Test
  void aRefusalNamesTheArgument() {
    JsonObject json = plan();
    json.getAsJsonArray("operations").get(0).getAsJsonObject().getAsJsonArray("commands").get(1).getAsJsonObject()
        .add("args", JsonParser.parseString("[\"SET\", \"{colour}\"]"));
    Plan plan = Examples.read(json);
    String said = null;
    try {
      new Drive(plan, new StoreClient(1), intervals::add);
    } catch (Refused refused) {
      said = refused.getMessage();
    }
    assertEquals("operations[0].commands[1].args[1]: {colour}: this driver does not know it", said);
    assertNull(plan.startAtUnixNs());
  }
}
