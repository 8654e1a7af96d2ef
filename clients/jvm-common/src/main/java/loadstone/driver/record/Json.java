package loadstone.driver.record;

import com.google.gson.JsonObject;

/** Counts as messages have them. */
final class Json {
  private Json() {}

  /** What happened. */
  static JsonObject events(Tally tally) {
    JsonObject errors = new JsonObject();
    tally.errors.forEach(errors::addProperty);
    JsonObject json = new JsonObject();
    json.addProperty("offered", tally.offered);
    json.addProperty("sent", tally.sent);
    json.addProperty("ok", tally.ok);
    json.add("errors", errors);
    json.addProperty("timeouts", tally.timeouts);
    json.addProperty("dropped", tally.dropped);
    return json;
  }

  /** What happened, and what had not ended. */
  static JsonObject counts(Tally tally) {
    JsonObject json = events(tally);
    json.addProperty("in_flight", tally.inFlight());
    json.addProperty("unsent", tally.unsent());
    return json;
  }
}
