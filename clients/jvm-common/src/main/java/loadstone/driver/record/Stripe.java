package loadstone.driver.record;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Set;
import loadstone.driver.client.CallFailed;
import loadstone.driver.load.Phase;
import loadstone.driver.load.Timeline;

/**
 * What some of the callers observe: each caller records into one stripe, under its lock, which few others use. Once it
 * is closed nothing more is recorded, and nothing more may be sent.
 */
public final class Stripe {
  /** So many intervals are kept until they are taken: with some 2 MB of histograms each, for two operations. */
  private static final int AHEAD_MAX = 64;

  private final Timeline timeline;
  private final long intervalNs;
  private IntervalData current;
  /** Intervals that have ended, and that were not taken yet. */
  private final Deque<IntervalData> ended = new ArrayDeque<>();
  private boolean isClosed;
  private final Set<Task> earlier = Collections.newSetFromMap(new IdentityHashMap<>());
  final Measured[] measured;
  final Tally total = new Tally();
  final long[] commandsSent;
  final long[] commandsReplied;
  final Latencies poolWait = new Latencies();
  final Latencies scheduleLag = new Latencies();
  long overflowed;
  /** When a reply came last, whatever it was. */
  private volatile long lastReplyNs;

  Stripe(Timeline timeline, long intervalNs, int operations, int commands) {
    this.timeline = timeline;
    this.intervalNs = intervalNs;
    current = new IntervalData(Phase.RAMP_UP, timeline.originNs(), operations);
    measured = new Measured[operations];
    Arrays.setAll(measured, operation -> new Measured());
    commandsSent = new long[commands];
    commandsReplied = new long[commands];
    lastReplyNs = timeline.originNs();
  }

  /** An operation is due. False if the drive is over. */
  public synchronized boolean offered(Task task) {
    if (isClosed) {
      return false;
    }
    total.offered++;
    at(task.pickedUpNs).tallies[task.request.operation()].offered++;
    if (task.member == Phase.MEASURE) {
      measured(task).tally.offered++;
      note(scheduleLag, task.pickedUpNs - task.intendedNs);
    } else {
      earlier.add(task);
    }
    return true;
  }

  /** Too many others wait for a connection. */
  public synchronized void dropped(Task task) {
    if (isClosed) {
      return;
    }
    total.dropped++;
    at(task.pickedUpNs).tallies[task.request.operation()].dropped++;
    if (task.member == Phase.MEASURE) {
      measured(task).tally.dropped++;
    }
    earlier.remove(task);
  }

  /** An operation has its connection, or will get none. False if the drive is over: nothing of it may be sent. */
  public synchronized boolean sent(Task task, long nowNs) {
    if (isClosed) {
      return false;
    }
    task.sentNs = nowNs;
    total.sent++;
    at(nowNs).tallies[task.request.operation()].sent++;
    if (task.member == Phase.MEASURE) {
      measured(task).tally.sent++;
      note(poolWait, nowNs - task.intendedNs);
    }
    return true;
  }

  /** A command is about to be sent. False if the drive is over: it must not be. */
  public synchronized boolean commandSent(int name) {
    commandsSent[name] += isClosed ? 0 : 1;
    return !isClosed;
  }

  /** A command's reply came. False if the drive is over. */
  public synchronized boolean commandReplied(int name, long nowNs) {
    commandsReplied[name] += isClosed ? 0 : 1;
    lastReplyNs = nowNs;
    return !isClosed;
  }

  /** An operation ended with a reply; {@code kind} is that of its error, null if all were correct. */
  public synchronized void replied(Task task, String kind, long completedNs) {
    if (isClosed) {
      return;
    }
    if (timeline.phaseOf(completedNs) == Phase.MEASURE) {
      measured(task).windowCompleted++;
      measured(task).windowOk += kind == null ? 1 : 0;
    }
    total.replied(kind);
    IntervalData interval = at(completedNs);
    int operation = task.request.operation();
    interval.tallies[operation].replied(kind);
    if (task.member == Phase.MEASURE) {
      measured(task).tally.replied(kind);
    }
    boolean isOfThisPhase =
        task.member == interval.phase || interval.phase == Phase.DRAIN && task.member == Phase.MEASURE;
    if (kind == null && isOfThisPhase) {
      note(interval.response[operation], completedNs - task.intendedNs);
      note(interval.service[operation], completedNs - task.sentNs);
    }
    end(task, completedNs);
  }

  /** An operation ended without a reply. */
  public synchronized void failed(Task task, CallFailed.Kind kind, long completedNs) {
    if (isClosed) {
      return;
    }
    total.failed(kind);
    at(completedNs).tallies[task.request.operation()].failed(kind);
    if (task.member == Phase.MEASURE) {
      measured(task).tally.failed(kind);
    }
    end(task, completedNs);
  }

  private void end(Task task, long completedNs) {
    if (task.member == Phase.MEASURE) {
      measured(task).responseSumNs += completedNs - task.intendedNs;
      timeline.measured(completedNs);
    } else {
      earlier.remove(task);
      wentOnUntil(task, completedNs);
    }
  }

  /** What an operation that began before the measure phase took of it. */
  private void wentOnUntil(Task task, long ns) {
    long begin = timeline.startNs(Phase.MEASURE);
    if (task.intendedNs < begin) {
      measured(task).earlierNs += Math.max(0, Math.min(ns, timeline.endNs(Phase.MEASURE)) - begin);
    }
  }

  private Measured measured(Task task) {
    return measured[task.request.operation()];
  }

  private void note(Latencies latencies, long ns) {
    overflowed += latencies.record(ns) ? 0 : 1;
  }

  /** Operations that have not ended. */
  synchronized long outstanding() {
    return total.unsent() + total.inFlight();
  }

  long lastReplyNs() {
    return lastReplyNs;
  }

  /**
   * The interval of what happens at a time: it ends when it ends, however late that is noticed elsewhere. On a CPU that
   * callers keep busy, who takes the intervals may come seconds later. Where too many are not taken yet, what happens is
   * of the last of them, but for its phase.
   */
  private IntervalData at(long ns) {
    while (ns >= endNs() && (ended.size() < AHEAD_MAX || ns >= timeline.endNs(current.phase))) {
      advance();
    }
    return current;
  }

  /** When the current interval ends, which may not be before it began: the end of the measure phase may come closer. */
  private long endNs() {
    return Math.max(current.startNs, Math.min(timeline.endNs(current.phase), current.startNs + intervalNs));
  }

  private void advance() {
    long endNs = endNs();
    Phase phase = endNs >= timeline.endNs(current.phase) ? current.phase.next() : current.phase;
    ended.addLast(current);
    current = new IntervalData(phase, endNs, measured.length);
  }

  /** Takes the oldest interval, however early: nothing is taken twice. */
  synchronized IntervalData take() {
    if (ended.isEmpty()) {
      advance();
    }
    return ended.removeFirst();
  }

  /** The drive is over. */
  synchronized void close(long nowNs) {
    isClosed = true;
    earlier.forEach(task -> wentOnUntil(task, nowNs));
  }
}
