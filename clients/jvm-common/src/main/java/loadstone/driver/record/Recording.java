package loadstone.driver.record;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import loadstone.driver.load.Clock;
import loadstone.driver.load.Phase;
import loadstone.driver.load.Timeline;
import loadstone.driver.plan.Plan;

/** What the callers of a drive observe, put together: intervals while it runs, the whole at its end. */
public final class Recording {
  /** So many that callers rarely wait for each other's lock. */
  private static final int STRIPES = 8;

  final List<String> operations;
  final List<String> commands;
  private final Stripe[] stripes;
  private final Latencies[] response;
  private final Latencies[] service;
  private long readBackChecked;
  private long readBackWrong;
  private long readBackSkipped;

  /** {@code commands}: the distinct names of the plan's commands. */
  public Recording(Plan plan, Timeline timeline, List<String> commands) {
    this.operations = plan.operations().stream().map(Plan.Operation::name).toList();
    this.commands = commands;
    int count = operations.size();
    long intervalNs = Clock.fromS(plan.intervalS());
    stripes = IntStream.range(0, STRIPES)
        .mapToObj(stripe -> new Stripe(timeline, intervalNs, count, commands.size())).toArray(Stripe[]::new);
    response = Latencies.empty(count);
    service = Latencies.empty(count);
  }

  /** Where the caller of that number records. */
  public Stripe stripe(int caller) {
    return stripes[caller % stripes.length];
  }

  /** Operations that have not ended. */
  public long outstanding() {
    return Arrays.stream(stripes).mapToLong(Stripe::outstanding).sum();
  }

  /** When a reply came last, whatever it was; when the load began if none did. */
  public long lastReplyNs() {
    return Arrays.stream(stripes).mapToLong(Stripe::lastReplyNs).max().orElseThrow();
  }

  /** The next interval, of that phase, which ended then: each call is for the one after that of the call before. */
  public Interval endInterval(Phase phase, long endNs) {
    IntervalData sum = new IntervalData(phase, endNs, operations.size());
    for (Stripe stripe : stripes) {
      sum.add(stripe.take());
    }
    if (phase.compareTo(Phase.MEASURE) >= 0) {
      for (int operation = 0; operation < response.length; operation++) {
        response[operation].add(sum.response[operation]);
        service[operation].add(sum.service[operation]);
      }
    }
    Tally total = total();
    return new Interval(this, sum, total.unsent(), total.inFlight());
  }

  /** The drive is over: nothing more is recorded, and nothing more may be sent. */
  public void close(long nowNs) {
    for (Stripe stripe : stripes) {
      stripe.close(nowNs);
    }
  }

  /** A read-back is about to be sent. */
  public synchronized void readBackSent(int command) {
    stripes[0].commandsSent[command]++;
  }

  public synchronized void readBackReplied(int command, boolean isCorrect) {
    stripes[0].commandsReplied[command]++;
    readBackChecked++;
    readBackWrong += isCorrect ? 0 : 1;
  }

  public synchronized void readBackSkipped() {
    readBackSkipped++;
  }

  Tally total() {
    Tally total = new Tally();
    for (Stripe stripe : stripes) {
      synchronized (stripe) {
        total.add(stripe.total);
      }
    }
    return total;
  }

  /** Everything, once the drive is over. */
  public synchronized Whole whole() {
    int count = operations.size();
    Whole whole = new Whole(this, total(), response, service);
    for (Stripe stripe : stripes) {
      synchronized (stripe) {
        for (int operation = 0; operation < count; operation++) {
          whole.measured[operation].add(stripe.measured[operation]);
        }
        for (int command = 0; command < commands.size(); command++) {
          whole.commandsSent[command] += stripe.commandsSent[command];
          whole.commandsReplied[command] += stripe.commandsReplied[command];
        }
        whole.poolWait.add(stripe.poolWait);
        whole.scheduleLag.add(stripe.scheduleLag);
        whole.overflowed += stripe.overflowed;
      }
    }
    whole.readBackChecked = readBackChecked;
    whole.readBackWrong = readBackWrong;
    whole.readBackSkipped = readBackSkipped;
    return whole;
  }
}
