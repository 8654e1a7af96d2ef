package loadstone.driver.run;

import java.util.concurrent.atomic.AtomicInteger;
import loadstone.driver.content.Rng;
import loadstone.driver.load.Clock;
import loadstone.driver.load.Phase;
import loadstone.driver.load.Request;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Plan.Closed;
import loadstone.driver.plan.Plan.RampUp;
import loadstone.driver.plan.Plan.ThinkTime;
import loadstone.driver.record.Stripe;
import loadstone.driver.record.Task;

/** The closed model: a thread a user, which waits for its reply, thinks, and goes on. */
final class Users implements Source {
  /** Keeps the random numbers of think times apart from those of keys and operations. */
  private static final long THINK_STREAM = 2L << 32;

  private final Session session;
  private final Closed model;
  private final Threads threads;
  private final AtomicInteger started = new AtomicInteger();
  private final AtomicInteger ended = new AtomicInteger();

  Users(Session session, Closed model, Threads threads) {
    this.session = session;
    this.model = model;
    this.threads = threads;
  }

  @Override
  public void start() {
    for (int user = 0; user < model.users(); user++) {
      int number = user;
      threads.start("user-" + user, () -> live(number));
    }
  }

  @Override
  public boolean hasEnded() {
    return ended.get() == model.users();
  }

  /** The last user ends the measure phase itself. */
  @Override
  public boolean isUsedUp() {
    return false;
  }

  @Override
  public int users() {
    return Math.max(0, started.get() - ended.get());
  }

  /** When a user starts, in nanoseconds since the load began: in steps, or spread evenly over the ramp-up. */
  static long startNs(Closed model, Plan.Phases phases, int user) {
    RampUp steps = model.rampUp();
    if (steps == null) {
      return Clock.fromS(phases.rampUpS() * user / model.users());
    }
    int later = Math.max(0, user + 1 - steps.initialUsers());
    int step = (later + steps.stepUsers() - 1) / steps.stepUsers();
    return Clock.fromS(step * steps.stepEveryS());
  }

  private void live(int user) throws InterruptedException {
    long readyNs = session.timeline().originNs() + startNs(model, session.plan().phases(), user);
    Caller caller = new Caller(session);
    Stripe stripe = session.recording().stripe(user);
    Rng rng = new Rng(session.plan().seed(), user);
    Rng thinking = new Rng(session.plan().seed(), THINK_STREAM + user);
    long left = model.operationsPerUser() == null ? Long.MAX_VALUE : model.operationsPerUser();
    boolean isFirst = true;
    for (; left > 0 && Pacing.await(readyNs, 0, session.timeline()); left--) {
      if (isFirst) {
        started.incrementAndGet();
        isFirst = false;
      }
      Phase member = session.timeline().phaseOf(readyNs);
      Request request = member == Phase.DRAIN ? null : session.workload().begin(rng);
      if (request == null) {
        break;
      }
      Task task = new Task(stripe, request, member, readyNs, Clock.now());
      long completedNs = stripe.offered(task) ? caller.carryOut(task) : -1;
      if (completedNs < 0) {
        break;
      }
      readyNs = completedNs + thinkNs(thinking);
    }
    if (isFirst) {
      started.incrementAndGet();
    }
    if (ended.incrementAndGet() == model.users()) {
      // Where work ends by itself, so does the measure phase.
      session.timeline().endAt(Clock.now());
    }
  }

  private long thinkNs(Rng rng) {
    double factor = model.thinkTime() == ThinkTime.EXPONENTIAL ? rng.exponential() : 1;
    return (long) (model.thinkTimeMs() * 1e6 * factor);
  }
}
