package loadstone.driver.run;

import loadstone.driver.client.CallFailed;
import loadstone.driver.client.Connection;
import loadstone.driver.content.Template.Filling;
import loadstone.driver.content.Text;
import loadstone.driver.load.Clock;
import loadstone.driver.load.Request;
import loadstone.driver.record.Recording;

/** Reads the last writes back once the load is over, one after the other for a bounded time. */
final class ReadBack {
  private static final long LONGEST_NS = 300_000_000;
  private static final byte[] NOTHING = {};

  private ReadBack() {}

  static void run(Session session) throws InterruptedException {
    long deadlineNs = Clock.now() + LONGEST_NS;
    Recording recording = session.recording();
    int most = session.plan().verify().readBackMax();
    Request request = session.workload().nextReadBack(recording::readBackSkipped);
    Connection connection;
    if (request == null) {
      return;
    }
    try {
      connection = session.client().take();
    } catch (CallFailed failed) {
      return;
    }
    try {
      for (int count = 0; request != null && count < most && Clock.now() < deadlineNs; count++) {
        readBack(session, connection, request);
        request = session.workload().nextReadBack(recording::readBackSkipped);
      }
    } catch (CallFailed failed) {
      // What cannot be read is not checked; the record says how many were.
    } finally {
      connection.giveBack();
    }
  }

  private static void readBack(Session session, Connection connection, Request request) throws CallFailed {
    Commands.Step step = session.commands().readBack(request.operation());
    Filling filling = new Filling(session.values(), request.key(), request.version(), request.seq(), NOTHING,
        request.others());
    session.recording().readBackSent(step.name());
    Object reply = connection.call(step.render(filling, new Text()));
    String kind = session.judge().judge(
        step.expect(), step.strict(), request, () -> session.workload().newest(request.key()), reply);
    session.recording().readBackReplied(step.name(), kind == null);
  }
}
