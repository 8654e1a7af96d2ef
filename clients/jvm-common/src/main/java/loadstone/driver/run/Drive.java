package loadstone.driver.run;

import com.google.gson.JsonObject;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import loadstone.driver.client.Client;
import loadstone.driver.content.Values;
import loadstone.driver.load.Clock;
import loadstone.driver.load.Phase;
import loadstone.driver.load.Timeline;
import loadstone.driver.load.Workload;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Plan.Closed;
import loadstone.driver.plan.Plan.Open;
import loadstone.driver.plan.Plan.Writes;
import loadstone.driver.plan.Refused;
import loadstone.driver.record.Interval;
import loadstone.driver.record.Recording;
import loadstone.driver.reply.Judge;

/** One plan from the beginning of its load to its record. */
public final class Drive {
  public static final String STOPPED = "stopped on request";
  /** How often it is looked whether the drive is to end. */
  private static final long TICK_NS = 5_000_000;
  private static final long DRAIN_TICK_NS = 1_000_000;
  /** Between the start of the threads and the beginning of the load, and for each thread. */
  private static final long NOTICE_NS = 5_000_000;
  private static final long NOTICE_PER_THREAD_NS = 100_000;
  private static final long READ_BACK_MS = 1000;

  private final Plan plan;
  private final Client client;
  private final Commands commands;
  private final Values values;
  private final Workload workload;
  private final Consumer<JsonObject> intervals;
  private final Threads threads = new Threads();
  private volatile String stopped;
  private Session session;
  private Source source;
  private Phase phase = Phase.RAMP_UP;
  private long intervalStartNs;
  private long quietSinceNs;

  /** {@code intervals} takes each interval as a message. */
  public Drive(Plan plan, Client client, Consumer<JsonObject> intervals) throws Refused {
    this.plan = plan;
    this.client = client;
    this.intervals = intervals;
    commands = new Commands(plan);
    values = new Values(plan.seed(), plan.documents());
    workload = new Workload(plan);
  }

  /** Ends the load; from any thread. The first reason stands. */
  public synchronized void stop(String reason) {
    stopped = stopped == null ? reason : stopped;
  }

  /** Carries the plan out. Returns the record as a message. */
  public JsonObject run() throws InterruptedException {
    Timeline timeline = new Timeline(plan, originNs());
    boolean writesFields = plan.operations().stream().anyMatch(operation -> operation.writes() == Writes.FIELD);
    Judge judge = new Judge(plan.verify(), values, writesFields);
    Recording recording = new Recording(plan, timeline, commands.names());
    session = new Session(plan, client, commands, values, workload, judge, timeline, recording, new Reach());
    source = plan.model() instanceof Open open
        ? new ArrivalsSource(session, open, threads)
        : new Users(session, (Closed) plan.model(), threads);
    intervalStartNs = timeline.originNs();
    while (borderNs() <= intervalStartNs) {
      // A phase without a length: nothing of the load may be taken for a part of it.
      endInterval(intervalStartNs);
    }
    source.start();
    load();
    long endNs = endLoad();
    long open = client.connected();
    if (stopped == null) {
      readBack();
    }
    return record(endNs, open);
  }

  private long originNs() {
    int count = plan.model() instanceof Closed closed ? closed.users() : 1;
    long soonNs = Clock.now() + NOTICE_NS + count * NOTICE_PER_THREAD_NS;
    return plan.startAtUnixNs() == null ? soonNs : Math.max(soonNs, Clock.fromUnixNs(plan.startAtUnixNs()));
  }

  /** Delivers intervals until everything ended, or there is no more time for it. */
  private void load() {
    while (stopped == null) {
      long nowNs = Clock.now();
      while (nowNs >= borderNs()) {
        endInterval(borderNs());
      }
      if (phase == Phase.DRAIN && hasDrained(nowNs)) {
        return;
      }
      lookForTheEnd(nowNs);
      long tickNs = phase == Phase.DRAIN ? DRAIN_TICK_NS : TICK_NS;
      LockSupport.parkNanos(Math.max(1, Math.min(tickNs, borderNs() - nowNs)));
    }
  }

  /** When the current interval ends. */
  private long borderNs() {
    return Math.min(session.timeline().endNs(phase), intervalStartNs + Clock.fromS(plan.intervalS()));
  }

  private void lookForTheEnd(long nowNs) {
    Recording recording = session.recording();
    long lastReplyNs = recording.lastReplyNs();
    if (client.connected() == 0 && recording.outstanding() > 0) {
      session.reach().failed(nowNs, lastReplyNs, "no connection is open");
    }
    String gone = session.reach().gone(nowNs, lastReplyNs, plan.timeouts().goneS());
    if (gone != null) {
      stop(gone);
    }
    if (threads.broken() != null) {
      stop("the driver broke");
    }
    if (source.isUsedUp() && recording.outstanding() == 0) {
      // As of now: writing an interval may have taken its time, and what happened since is in the next ones.
      session.timeline().endAt(Clock.now());
    }
  }

  private boolean hasDrained(long nowNs) {
    boolean isQuiet = session.recording().outstanding() == 0
        && (source.hasEnded() || plan.model() instanceof Closed);
    quietSinceNs = isQuiet ? (quietSinceNs == 0 ? nowNs : quietSinceNs) : 0;
    // A user that has just ended an operation may be about to begin one that was intended before the drain.
    boolean isDone = isQuiet && nowNs - quietSinceNs >= DRAIN_TICK_NS;
    return isDone || nowNs >= session.timeline().startNs(Phase.DRAIN) + Clock.fromS(plan.phases().drainS());
  }

  /** Delivers the current interval, which ended then, or as it began where the measure phase has ended since. */
  private void endInterval(long borderNs) {
    Timeline timeline = session.timeline();
    long endNs = Math.max(borderNs, intervalStartNs);
    boolean endsPhase = endNs >= timeline.endNs(phase);
    Interval interval = session.recording().endInterval(phase, endNs);
    JsonObject message = new JsonObject();
    message.addProperty("type", "interval");
    interval.writeTo(message);
    message.addProperty("start_s", Clock.toS(intervalStartNs - timeline.originNs()));
    message.addProperty("duration_s", Clock.toS(endNs - intervalStartNs));
    message.addProperty("start_unix_ns", Clock.toUnixNs(intervalStartNs));
    message.addProperty("connections", client.connected());
    message.addProperty("users", source.users());
    if (endNs > intervalStartNs || !interval.isEmpty()) {
      intervals.accept(message);
    }
    phase = endsPhase ? phase.next() : phase;
    intervalStartNs = endNs;
  }

  /** Delivers what is left. Returns when the load ended. */
  private long endLoad() {
    long nowNs = Math.max(Clock.now(), session.timeline().originNs());
    session.recording().close(nowNs);
    session.timeline().endAt(nowNs);
    while (phase != Phase.DRAIN) {
      endInterval(Math.min(nowNs, borderNs()));
    }
    endInterval(nowNs);
    return nowNs;
  }

  /** Waits for it no longer than a bound: a connection may never be free again. */
  private void readBack() throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    threads.start("read-back", () -> {
      try {
        ReadBack.run(session);
      } finally {
        done.countDown();
      }
    });
    done.await(READ_BACK_MS, TimeUnit.MILLISECONDS);
  }

  private JsonObject record(long endNs, long openAtEnd) {
    Timeline timeline = session.timeline();
    JsonObject message = new JsonObject();
    message.addProperty("type", "record");
    message.addProperty("started_unix_ns", Clock.toUnixNs(timeline.originNs()));
    JsonObject phases = new JsonObject();
    for (Phase each : List.of(Phase.values())) {
      JsonObject times = new JsonObject();
      times.addProperty("start_s", Clock.toS(Math.min(timeline.startNs(each), endNs) - timeline.originNs()));
      times.addProperty("end_s", Clock.toS(Math.min(timeline.endNs(each), endNs) - timeline.originNs()));
      phases.add(each.label(), times);
    }
    message.add("phases", phases);
    session.recording().whole().writeTo(message);
    Client.Counts counts = client.counts();
    JsonObject connections = new JsonObject();
    connections.addProperty("opened", counts.opened());
    connections.addProperty("open_at_end", openAtEnd);
    connections.addProperty("lost", counts.lost());
    connections.addProperty("failed", counts.failed());
    connections.addProperty("closed_idle", counts.closedIdle());
    message.add("connections", connections);
    message.addProperty("clock_quantum_ns", Clock.quantumNs());
    message.addProperty("stopped", stopped);
    return message;
  }

  /** What went wrong in the driver itself; null if nothing did. */
  public Throwable broken() {
    return threads.broken();
  }
}
