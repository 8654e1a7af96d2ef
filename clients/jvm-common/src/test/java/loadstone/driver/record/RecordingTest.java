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
  private static Plan plan() {
    JsonObject plan = Examples.plan("closed");
    plan.addProperty("interval_s", 1.0);
    return Examples.read(plan);
  }

  @Test
  void anIntervalEndsWhenItEndsHoweverLateThatIsNoticed() {
    Plan plan = plan();
    Recording recording = new Recording(plan, new Timeline(plan, 0), List.of("JSON.SET"));
    recording.endInterval(Phase.RAMP_UP, 0);
    Stripe stripe = recording.stripe(0);
    for (long second : new long[] {0, 2, 2, 7}) {
      Phase member = second == 0 ? Phase.WARM_UP : Phase.MEASURE;
      long ns = second * SECOND_NS;
      Task task = new Task(stripe, new Request(0, 1, 1, 0, false, true), member, ns, ns);
      stripe.offered(task);
      stripe.sent(task, ns + 1);
      stripe.replied(task, null, ns + 2);
    }
    assertEquals(1, ok(recording.endInterval(Phase.WARM_UP, SECOND_NS)));
    long[] measured = {0, 2, 0, 0, 0};
    for (int second = 0; second < measured.length; second++) {
      assertEquals(measured[second], ok(recording.endInterval(Phase.MEASURE, (second + 2) * SECOND_NS)));
    }
    assertEquals(0, ok(recording.endInterval(Phase.DRAIN, 7 * SECOND_NS)));
    assertEquals(1, ok(recording.endInterval(Phase.DRAIN, 8 * SECOND_NS)));
    JsonObject record = new JsonObject();
    recording.whole().writeTo(record);
    JsonObject set = record.getAsJsonObject("operations").getAsJsonObject("set");
    assertEquals(3, set.getAsJsonObject("counts").get("ok").getAsLong());
    assertEquals(2, set.get("window_ok").getAsLong());
  }

  @Test
  void nothingIsInTwoIntervalsHoweverEarlyTheyAreTaken() {
    Plan plan = plan();
    Timeline timeline = new Timeline(plan, 0);
    Recording recording = new Recording(plan, timeline, List.of("JSON.SET"));
    recording.endInterval(Phase.RAMP_UP, 0);
    recording.endInterval(Phase.WARM_UP, SECOND_NS);
    Stripe stripe = recording.stripe(0);
    long half = SECOND_NS / 2;
    long ns = 13 * half;
    Task task = new Task(stripe, new Request(0, 1, 1, 0, false, true), Phase.MEASURE, ns, ns);
    stripe.offered(task);
    stripe.sent(task, ns + 1);
    stripe.replied(task, null, ns + 2);
    timeline.endAt(11 * half); // after the stripe was in the drain: intervals end elsewhere from now on
    long total = 0;
    for (long halves : new long[] {4, 6, 8, 10, 11}) {
      total += ok(recording.endInterval(Phase.MEASURE, halves * half));
    }
    for (long halves : new long[] {13, 15, 17}) {
      total += ok(recording.endInterval(Phase.DRAIN, halves * half));
    }
    assertEquals(1, total);
  }

  @Test
  void whereNobodyTakesIntervalsAFewAreKeptAndThePhaseIsRight() {
    Plan plan = plan();
    Timeline timeline = new Timeline(plan, 0);
    Recording recording = new Recording(plan, timeline, List.of("JSON.SET"));
    recording.endInterval(Phase.RAMP_UP, 0);
    Stripe stripe = recording.stripe(0);
    for (long second = 6; second < 106; second++) {
      long ns = second * SECOND_NS;
      Task task = new Task(stripe, new Request(0, 1, 1, 0, false, true), Phase.DRAIN, ns, ns);
      stripe.offered(task);
      stripe.sent(task, ns + 1);
      stripe.replied(task, null, ns + 2);
    }
    long total = 0;
    for (long second = 1; second <= 106; second++) {
      Phase phase = second <= 1 ? Phase.WARM_UP : second <= 6 ? Phase.MEASURE : Phase.DRAIN;
      long found = ok(recording.endInterval(phase, second * SECOND_NS));
      assertEquals(0, phase == Phase.DRAIN ? 0 : found);
      total += found;
    }
    assertEquals(100, total);
  }
}
