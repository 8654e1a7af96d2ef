package loadstone.driver.record;

import com.google.gson.JsonObject;
import java.util.Arrays;

/** Everything that the callers observed in a drive that is over. */
public final class Whole {
  private final Recording recording;
  private final Tally total;
  private final Latencies[] response;
  private final Latencies[] service;
  final Measured[] measured;
  final long[] commandsSent;
  final long[] commandsReplied;
  final Latencies poolWait = new Latencies();
  final Latencies scheduleLag = new Latencies();
  long overflowed;
  long readBackChecked;
  long readBackWrong;
  long readBackSkipped;

  Whole(Recording recording, Tally total, Latencies[] response, Latencies[] service) {
    this.recording = recording;
    this.total = total;
    this.response = response;
    this.service = service;
    measured = new Measured[response.length];
    Arrays.setAll(measured, operation -> new Measured());
    commandsSent = new long[recording.commands.size()];
    commandsReplied = new long[recording.commands.size()];
  }

  /** What the message has of it, times and connections aside. */
  public void writeTo(JsonObject message) {
    JsonObject operations = new JsonObject();
    for (int operation = 0; operation < measured.length; operation++) {
      operations.add(recording.operations.get(operation), operation(operation));
    }
    JsonObject commands = new JsonObject();
    for (int command = 0; command < commandsSent.length; command++) {
      JsonObject one = new JsonObject();
      one.addProperty("sent", commandsSent[command]);
      one.addProperty("replied", commandsReplied[command]);
      commands.add(recording.commands.get(command), one);
    }
    JsonObject readBack = new JsonObject();
    readBack.addProperty("checked", readBackChecked);
    readBack.addProperty("wrong", readBackWrong);
    readBack.addProperty("skipped", readBackSkipped);
    message.add("operations", operations);
    message.add("total", total.counts());
    message.add("commands", commands);
    message.addProperty("pool_wait_histogram", poolWait.encode());
    message.addProperty("schedule_lag_histogram", scheduleLag.encode());
    message.add("read_back", readBack);
    message.addProperty("overflowed", overflowed);
  }

  private JsonObject operation(int operation) {
    Measured members = measured[operation];
    JsonObject json = new JsonObject();
    json.add("counts", members.tally.counts());
    json.addProperty("window_completed", members.windowCompleted);
    json.addProperty("window_ok", members.windowOk);
    json.addProperty("response_sum_ns", members.responseSumNs);
    json.addProperty("earlier_ns", members.earlierNs);
    json.addProperty("response_histogram", response[operation].encode());
    json.addProperty("service_histogram", service[operation].encode());
    return json;
  }
}
