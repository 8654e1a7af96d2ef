package loadstone.driver.record;

import java.util.concurrent.atomic.AtomicLong;
import loadstone.driver.load.Timeline;

/** Ends the measure phase when as many of its operations have ended as the plan requires. For all threads. */
final class Enough {
  private final Timeline timeline;
  private final long required;
  private final AtomicLong ended = new AtomicLong();

  /** {@code required}: null if the plan does not say. */
  Enough(Timeline timeline, Long required) {
    this.timeline = timeline;
    this.required = required == null ? Long.MAX_VALUE : required;
  }

  void oneMore(long nowNs) {
    if (required != Long.MAX_VALUE && ended.incrementAndGet() == required) {
      timeline.enough(nowNs);
    }
  }
}
