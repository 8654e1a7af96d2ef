package loadstone.driver.load;

import java.util.ArrayList;
import java.util.List;
import loadstone.driver.content.Rng;
import loadstone.driver.plan.Plan.ArrivalsKind;
import loadstone.driver.plan.Plan.Open;
import loadstone.driver.plan.Plan.Phases;
import loadstone.driver.plan.Plan.RateStep;

/**
 * The open model's arrivals. Every intended time comes from the schedule alone: the rate is integrated over time
 * ("work"), and constant arrival number k is intended when the work is k. For one thread.
 */
public final class Arrivals {
  /** Keeps the random numbers of arrivals apart from those of keys and operations. */
  private static final long STREAM = 1L << 32;

  /** A stretch of time in which the rate changes linearly. */
  private record Stretch(double startS, double lengthS, double startRate, double endRate, double startWork) {
    double work() {
      return lengthS * (startRate + endRate) / 2;
    }

    double timeOf(double work) {
      double rest = work - startWork;
      double slope = Double.isInfinite(lengthS) ? 0 : (endRate - startRate) / lengthS;
      double denominator = startRate + Math.sqrt(Math.max(0, startRate * startRate + 2 * slope * rest));
      return rest <= 0 ? startS : startS + 2 * rest / denominator;
    }
  }

  private final List<Stretch> stretches = new ArrayList<>();
  private final boolean isPoisson;
  private final Rng rng;
  private int current;
  private double work;
  private long nextNs;

  public Arrivals(Open open, Phases phases, long seed) {
    double rate = open.ratePerS();
    List<RateStep> schedule = open.schedule();
    addStretch(phases.rampUpS(), 0, rate);
    addStretch(schedule.isEmpty() ? Double.POSITIVE_INFINITY : phases.warmUpS(), rate, rate);
    for (int index = 0; index < schedule.size(); index++) {
      RateStep step = schedule.get(index);
      boolean isLast = index == schedule.size() - 1;
      addStretch(isLast ? Double.POSITIVE_INFINITY : step.durationS(), step.ratePerS(), step.ratePerS());
    }
    isPoisson = open.arrivals() == ArrivalsKind.POISSON;
    rng = new Rng(seed, STREAM);
    work = isPoisson ? rng.exponential() : 0;
    nextNs = Clock.fromS(timeOf(work));
  }

  private void addStretch(double lengthS, double startRate, double endRate) {
    if (lengthS <= 0) {
      return;
    }
    Stretch before = stretches.isEmpty() ? null : stretches.get(stretches.size() - 1);
    double startS = before == null ? 0 : before.startS() + before.lengthS();
    double startWork = before == null ? 0 : before.startWork() + before.work();
    stretches.add(new Stretch(startS, lengthS, startRate, endRate, startWork));
  }

  /** When the next operation is intended, in nanoseconds since the load began. */
  public long nextNs() {
    return nextNs;
  }

  /** Goes on to the arrival after it. */
  public void advance() {
    work += isPoisson ? rng.exponential() : 1;
    nextNs = Clock.fromS(timeOf(work));
  }

  private double timeOf(double reached) {
    while (current + 1 < stretches.size() && stretches.get(current + 1).startWork() <= reached) {
      current++;
    }
    return stretches.get(current).timeOf(reached);
  }
}
