package loadstone.driver.record;

import com.google.gson.JsonObject;
import java.util.Map;
import java.util.TreeMap;
import loadstone.driver.client.CallFailed;

/** Events of one operation. */
public final class Tally {
  long offered;
  long sent;
  long ok;
  long timeouts;
  long dropped;
  final Map<String, Long> errors = new TreeMap<>();

  /** A reply came: {@code kind} is that of its error, null if it was correct. */
  void replied(String kind) {
    if (kind == null) {
      ok++;
    } else {
      errors.merge(kind, 1L, Long::sum);
    }
  }

  void failed(CallFailed.Kind kind) {
    if (kind == CallFailed.Kind.TIMEOUT) {
      timeouts++;
    } else {
      errors.merge(kind.label(), 1L, Long::sum);
    }
  }

  void add(Tally other) {
    offered += other.offered;
    sent += other.sent;
    ok += other.ok;
    timeouts += other.timeouts;
    dropped += other.dropped;
    other.errors.forEach((kind, count) -> errors.merge(kind, count, Long::sum));
  }

  boolean isEmpty() {
    return errors.isEmpty() && offered + sent + ok + timeouts + dropped == 0;
  }

  /** What happened, as messages have it. */
  JsonObject events() {
    JsonObject kinds = new JsonObject();
    errors.forEach(kinds::addProperty);
    JsonObject json = new JsonObject();
    json.addProperty("offered", offered);
    json.addProperty("sent", sent);
    json.addProperty("ok", ok);
    json.add("errors", kinds);
    json.addProperty("timeouts", timeouts);
    json.addProperty("dropped", dropped);
    return json;
  }

  /** What happened, and what had not ended. */
  JsonObject counts() {
    JsonObject json = events();
    json.addProperty("in_flight", inFlight());
    json.addProperty("unsent", unsent());
    return json;
  }

  /** Operations that still wait for a connection. */
  long unsent() {
    return offered - sent - dropped;
  }

  /** Operations that were sent and have not ended. */
  long inFlight() {
    return sent - ok - timeouts - errors.values().stream().mapToLong(Long::longValue).sum();
  }
}
