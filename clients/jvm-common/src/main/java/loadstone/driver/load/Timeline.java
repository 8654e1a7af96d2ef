package loadstone.driver.load;

import java.util.concurrent.atomic.AtomicLong;
import loadstone.driver.plan.Plan;

/** When each phase begins, on the drive's clock. The end of the measure phase may move closer; for all threads. */
public final class Timeline {
  /** Notice that threads get of an end that could not be foreseen. */
  private static final long NOTICE_NS = 1_000_000;

  private final long originNs;
  private final long shortestMeasureNs;
  private final Long required;
  private final AtomicLong ended = new AtomicLong();
  /** The starts of warm-up, measure and drain. */
  private volatile long[] starts;

  public Timeline(Plan plan, long originNs) {
    Plan.Phases phases = plan.phases();
    this.originNs = originNs;
    required = phases.measureOperations();
    long warmUp = originNs + Clock.fromS(phases.rampUpS());
    long measure = warmUp + Clock.fromS(phases.warmUpS());
    shortestMeasureNs = measure + Clock.fromS(phases.measureS());
    starts = new long[] {warmUp, measure, measure + Clock.fromS(plan.longestMeasureS())};
  }

  public long originNs() {
    return originNs;
  }

  public long startNs(Phase phase) {
    return phase == Phase.RAMP_UP ? originNs : starts[phase.ordinal() - 1];
  }

  /** The drain's end is not known beforehand. */
  public long endNs(Phase phase) {
    return phase == Phase.DRAIN ? Long.MAX_VALUE : starts[phase.ordinal()];
  }

  /** The phase of an operation intended at that time. */
  public Phase phaseOf(long ns) {
    long[] now = starts;
    if (ns >= now[1]) {
      return ns < now[2] ? Phase.MEASURE : Phase.DRAIN;
    }
    return ns >= now[0] ? Phase.WARM_UP : Phase.RAMP_UP;
  }

  /** The measure phase ends now; phases that had not begun have no length. */
  public synchronized void endAt(long ns) {
    long[] before = starts;
    if (ns < before[2]) {
      long end = Math.max(ns, originNs);
      starts = new long[] {Math.min(before[0], end), Math.min(before[1], end), end};
    }
  }

  /** An operation of the measure phase ended; it ends as soon as it may after as many as the plan requires. */
  public void measured(long nowNs) {
    if (required != null && ended.incrementAndGet() == required) {
      endAt(Math.max(shortestMeasureNs, nowNs + NOTICE_NS));
    }
  }

  /** There is no more work. */
  public void noMoreWork(long nowNs) {
    endAt(nowNs + NOTICE_NS);
  }
}
