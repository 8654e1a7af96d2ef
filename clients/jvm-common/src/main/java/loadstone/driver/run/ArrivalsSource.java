package loadstone.driver.run;

import java.util.ArrayDeque;
import java.util.Deque;
import loadstone.driver.content.Rng;
import loadstone.driver.load.Arrivals;
import loadstone.driver.load.Clock;
import loadstone.driver.load.Phase;
import loadstone.driver.load.Request;
import loadstone.driver.plan.Plan.Open;
import loadstone.driver.record.Stripe;
import loadstone.driver.record.Task;

/**
 * The open model: one thread lets operations arrive by their schedule, others carry them out. There are as many of
 * those as the client takes calls at once, started as they are needed; what finds none of them waits in the backlog.
 */
final class ArrivalsSource implements Source {
  private static final int MOST_CALLERS = 10_000;

  private final Session session;
  private final Open model;
  private final Threads threads;
  private final int most;
  private final Deque<Task> backlog = new ArrayDeque<>();
  private int waiting;
  private int callers;
  private volatile boolean hasEnded;
  private volatile boolean isUsedUp;

  ArrivalsSource(Session session, Open model, Threads threads) {
    this.session = session;
    this.model = model;
    this.threads = threads;
    this.most = Math.min(session.client().callsAtOnce(), MOST_CALLERS);
  }

  @Override
  public void start() {
    threads.start("arrivals", this::arrive);
  }

  @Override
  public boolean hasEnded() {
    return hasEnded;
  }

  @Override
  public boolean isUsedUp() {
    return isUsedUp;
  }

  @Override
  public int users() {
    return 0;
  }

  private void arrive() {
    Arrivals arrivals = new Arrivals(model, session.plan().phases(), session.plan().seed());
    Rng rng = new Rng(session.plan().seed(), 0);
    long spinNs = model.spinUs() == null ? 0 : (long) (model.spinUs() * 1000);
    for (int number = 0; ; number++) {
      long intendedNs = session.timeline().originNs() + arrivals.nextNs();
      Phase member = session.timeline().phaseOf(intendedNs);
      if (member == Phase.DRAIN || !Pacing.await(intendedNs, spinNs, session.timeline())) {
        break;
      }
      Request request = session.workload().begin(rng);
      if (request == null) {
        isUsedUp = true;
        break;
      }
      Stripe stripe = session.recording().stripe(number & Integer.MAX_VALUE);
      Task task = new Task(stripe, request, member, intendedNs, Clock.now());
      if (!stripe.offered(task)) {
        break;
      }
      if (!queue(task)) {
        session.workload().abandon(request);
        stripe.dropped(task);
      }
      arrivals.advance();
    }
    hasEnded = true;
  }

  /** False if too many others wait. */
  private boolean queue(Task task) {
    boolean startsCaller;
    int number;
    synchronized (backlog) {
      if (backlog.size() >= model.backlogMax()) {
        return false;
      }
      backlog.addLast(task);
      startsCaller = backlog.size() > waiting && callers < most;
      number = callers;
      if (startsCaller) {
        callers++;
      } else if (waiting > 0) {
        backlog.notify();
      }
    }
    if (startsCaller) {
      threads.start("caller-" + number, this::call);
    }
    return true;
  }

  private void call() throws InterruptedException {
    Caller caller = new Caller(session);
    while (true) {
      caller.carryOut(next());
    }
  }

  private Task next() throws InterruptedException {
    synchronized (backlog) {
      while (backlog.isEmpty()) {
        waiting++;
        try {
          backlog.wait();
        } finally {
          waiting--;
        }
      }
      return backlog.removeFirst();
    }
  }
}
