package loadstone.driver.load;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import loadstone.driver.content.Rng;
import loadstone.driver.content.Template;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Plan.Operation;
import loadstone.driver.plan.Plan.Writes;
import loadstone.driver.plan.Refused;

/** What is requested: draws operations with their keys and versions, and follows what they write. For all threads. */
public final class Workload {
  private final List<Operation> operations;
  /** An operation is drawn by numbers below its threshold and not below those before it; the last one is 1. */
  private final double[] thresholds;
  private final KeyPicker keys;
  private final KeyStates states;
  private final AtomicLong nextSeq = new AtomicLong();
  private final RecentWrites recent;
  /** How many keys each operation names beside {@code {key}}. */
  private final int[] others;

  public Workload(Plan plan) throws Refused {
    operations = plan.operations();
    thresholds = new double[operations.size()];
    double total = operations.stream().mapToDouble(Operation::weight).sum();
    double sum = 0;
    for (int index = 0; index < thresholds.length; index++) {
      sum += operations.get(index).weight();
      thresholds[index] = sum / total;
    }
    others = operations.stream().mapToInt(one -> one.commands().stream().flatMap(command -> command.args().stream())
        .mapToInt(Template::othersNamed).max().orElse(0)).toArray();
    keys = new KeyPicker(plan.keys());
    states = new KeyStates(plan);
    recent = new RecentWrites(plan.verify().replies() ? plan.verify().readBackMax() : 0);
  }

  /** Draws the next operation; null when every key of {@code exactly_once} was taken. */
  public Request begin(Rng rng) {
    int operation = draw(rng);
    long key = keys.next(rng);
    if (key < 0) {
      return null;
    }
    long seq = nextSeq.getAndIncrement();
    boolean writes = operations.get(operation).writes() != Writes.NOTHING;
    long state = writes ? states.beginWrite(key) : states.of(key);
    long version = KeyStates.version(state) + (writes ? 1 : 0);
    return new Request(
        operation, key, version & 0xffff_ffffL, seq, KeyStates.stored(state), !KeyStates.inFlight(state),
        keys.others(rng, key, others[operation]));
  }

  private int draw(Rng rng) {
    if (thresholds.length == 1) {
      return 0;
    }
    double drawn = rng.unit();
    int operation = 0;
    while (operation < thresholds.length - 1 && drawn >= thresholds[operation]) {
      operation++;
    }
    return operation;
  }

  /** The newest version of a key that was begun. */
  public long newest(long key) {
    return KeyStates.version(states.of(key));
  }

  /** Nothing of the operation was sent: its write will never happen. */
  public void abandon(Request request) {
    if (operations.get(request.operation()).writes() != Writes.NOTHING) {
      states.endWrite(request.key(), false);
    }
  }

  /** The last reply of an operation came, or an earlier one that was wrong. */
  public void replied(Request request, boolean isCorrect) {
    Operation operation = operations.get(request.operation());
    if (operation.writes() == Writes.NOTHING) {
      return;
    }
    states.endWrite(request.key(), isCorrect && operation.writes() == Writes.DOCUMENT);
    if (isCorrect && request.alone() && operation.readBack() != null) {
      recent.push(request);
    }
  }

  /**
   * The next write that is to be read back, once nobody writes any more; null if there is none left. {@code skipped} is
   * run for each one whose key has a newer version.
   */
  public Request nextReadBack(Runnable skipped) {
    for (Request write = recent.take(); write != null; write = recent.take()) {
      if (newest(write.key()) == write.version()) {
        return new Request(
            write.operation(), write.key(), write.version(), nextSeq.getAndIncrement(), true, true);
      }
      skipped.run();
    }
    return null;
  }

  /** The last writes, of which the newest of each key is taken. */
  private static final class RecentWrites {
    private final int max;
    private final Deque<Request> writes = new ArrayDeque<>();
    private final Set<Long> taken = new HashSet<>();

    RecentWrites(int max) {
      this.max = max;
    }

    void push(Request write) {
      if (max == 0) {
        return;
      }
      synchronized (this) {
        if (writes.size() >= max) {
          writes.removeFirst();
        }
        writes.addLast(write);
      }
    }

    synchronized Request take() {
      while (!writes.isEmpty()) {
        Request write = writes.removeLast();
        if (taken.add(write.key())) {
          return write;
        }
      }
      return null;
    }
  }
}
