package loadstone.driver.run;

import java.util.concurrent.locks.LockSupport;
import loadstone.driver.load.Clock;
import loadstone.driver.load.Phase;
import loadstone.driver.load.Timeline;

/** Waits for intended times. */
final class Pacing {
  /** The longest sleep, after which it is looked whether the measure phase has ended meanwhile. */
  private static final long LONGEST_NS = 100_000_000;

  private Pacing() {}

  /**
   * Waits until a time; the last {@code spinNs} of it without giving up the CPU. False if that time is in no phase in
   * which operations begin.
   */
  static boolean await(long untilNs, long spinNs, Timeline timeline) {
    while (timeline.phaseOf(untilNs) != Phase.DRAIN) {
      long leftNs = untilNs - Clock.now();
      if (leftNs <= 0) {
        return true;
      }
      if (leftNs > spinNs) {
        LockSupport.parkNanos(Math.min(leftNs - spinNs, LONGEST_NS));
      } else {
        Thread.onSpinWait();
      }
    }
    return false;
  }
}
