package loadstone.driver.record;

import com.google.gson.JsonObject;
import java.util.Arrays;

/** One interval of all callers. */
public final class Interval {
  private final Recording recording;
  private final IntervalData data;
  private final long unsent;
  private final long inFlight;

  Interval(Recording recording, IntervalData data, long unsent, long inFlight) {
    this.recording = recording;
    this.data = data;
    this.unsent = unsent;
    this.inFlight = inFlight;
  }

  /** Whether nothing happened in it. */
  public boolean isEmpty() {
    return Arrays.stream(data.tallies).allMatch(Tally::isEmpty);
  }

  /** What the message has of it, times and gauges of the drive aside. */
  public void writeTo(JsonObject message) {
    JsonObject operations = new JsonObject();
    for (int operation = 0; operation < data.tallies.length; operation++) {
      JsonObject one = data.tallies[operation].events();
      one.addProperty("response_histogram", data.response[operation].encode());
      one.addProperty("service_histogram", data.service[operation].encode());
      operations.add(recording.operations.get(operation), one);
    }
    message.addProperty("phase", data.phase.label());
    message.add("operations", operations);
    message.addProperty("backlog", unsent);
    message.addProperty("in_flight", inFlight);
  }
}
