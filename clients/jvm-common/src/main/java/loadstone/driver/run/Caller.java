package loadstone.driver.run;

import java.util.List;
import loadstone.driver.client.CallFailed;
import loadstone.driver.client.Connection;
import loadstone.driver.content.Template.Filling;
import loadstone.driver.content.Text;
import loadstone.driver.load.Clock;
import loadstone.driver.load.Request;
import loadstone.driver.record.Task;

/** Carries operations out, one after the other, over connections that it takes and gives back. For one thread. */
final class Caller {
  private static final byte[] NOTHING = {};
  private static final long PAUSE_MS = 10;

  private final Session session;
  private final Text scratch = new Text();

  Caller(Session session) {
    this.session = session;
  }

  /** Carries an operation out that was offered before. Returns when it ended; -1 if the drive is over. */
  long carryOut(Task task) throws InterruptedException {
    Connection connection;
    try {
      connection = session.client().take();
    } catch (CallFailed failed) {
      long nowNs = Clock.now();
      task.stripe.sent(task, nowNs);
      session.workload().abandon(task.request);
      return end(task, failed, nowNs);
    }
    CallFailed failure;
    try {
      if (!task.stripe.sent(task, Clock.now())) {
        return -1;
      }
      return run(task, connection);
    } catch (CallFailed failed) {
      failure = failed;
    } finally {
      connection.giveBack();
    }
    return end(task, failure, Clock.now());
  }

  /** Sends the commands, each after a correct reply to the one before. Returns when the operation ended. */
  private long run(Task task, Connection connection) throws CallFailed {
    Request request = task.request;
    List<Commands.Step> steps = session.commands().of(request.operation());
    byte[] previous = NOTHING;
    for (int at = 0; ; at++) {
      Commands.Step step = steps.get(at);
      Filling filling = new Filling(session.values(), request.key(), request.version(), request.seq(), previous,
          request.others());
      byte[][] command = step.render(filling, scratch);
      if (!task.stripe.commandSent(step.name())) {
        return -1;
      }
      Object reply = connection.call(command);
      long completedNs = Clock.now();
      if (!task.stripe.commandReplied(step.name(), completedNs)) {
        return -1;
      }
      String kind = session.judge().judge(
          step.expect(), step.strict(), request, () -> session.workload().newest(request.key()), reply);
      if (kind != null || at == steps.size() - 1) {
        session.workload().replied(request, kind == null);
        task.stripe.replied(task, kind, completedNs);
        return completedNs;
      }
      previous = reply instanceof byte[] text ? text : NOTHING;
    }
  }

  /** An operation ended without a reply. One that failed for its connection makes its user wait a little. */
  private long end(Task task, CallFailed failure, long nowNs) throws InterruptedException {
    task.stripe.failed(task, failure.kind, nowNs);
    if (failure.kind == CallFailed.Kind.TIMEOUT) {
      return nowNs;
    }
    session.reach().failed(nowNs, session.recording().lastReplyNs(), failure.getMessage());
    Thread.sleep(PAUSE_MS);
    return Clock.now();
  }
}
