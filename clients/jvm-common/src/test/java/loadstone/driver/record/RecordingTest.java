package loadstone.driver.record;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonObject;
import java.util.List;
import loadstone.driver.Examples;
import loadstone.driver.load.Phase;
import loadstone.driver.load.Request;
import loadstone.driver.load.Timeline;
import loadstone.driver.plan.Plan;
import org.junit.jupiter.api.Test;

class RecordingTest {
  private static final long SECOND_NS = 1_000_000_000L;

  private static long ok(Interval interval) {
    JsonObject message = new JsonObject();
    interval.writeTo(message);
    return message.getAsJsonObject("operations").getAsJsonObject("set").get("ok").getAsLong();
  }

  /** The plan warms up for a second and measures for five. */
  @Test
  void aPhaseEndsWhenItEndsHoweverLateThatIsNoticed() {
    Plan plan = Examples.read(Examples.plan("closed"));
    Recording recording = new Recording(plan, new Timeline(plan, 0), List.of("JSON.SET"));
    recording.endInterval(Phase.RAMP_UP, Phase.WARM_UP);
    Stripe stripe = recording.stripe(0);
    for (long second : new long[] {0, 2, 2, 7}) {
      Phase member = second == 0 ? Phase.WARM_UP : Phase.MEASURE;
      long ns = second * SECOND_NS;
      Task task = new Task(stripe, new Request(0, 1, 1, 0, false, true), member, ns, ns);
      stripe.offered(task);
      stripe.sent(task, ns + 1);
      stripe.replied(task, null, ns + 2);
    }
    assertEquals(1, ok(recording.endInterval(Phase.WARM_UP, Phase.WARM_UP)));
    assertEquals(0, ok(recording.endInterval(Phase.WARM_UP, Phase.MEASURE)));
    assertEquals(2, ok(recording.endInterval(Phase.MEASURE, Phase.DRAIN)));
    assertEquals(1, ok(recording.endInterval(Phase.DRAIN, Phase.DRAIN)));
    JsonObject record = new JsonObject();
    recording.whole().writeTo(record);
    JsonObject set = record.getAsJsonObject("operations").getAsJsonObject("set");
    assertEquals(3, set.getAsJsonObject("counts").get("ok").getAsLong());
    assertEquals(2, set.get("window_ok").getAsLong());
  }
}
