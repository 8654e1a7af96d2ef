package loadstone.driver.client;

/** A library's pool of connections, or the one connection that all callers share. For all threads. */
public interface Client {
  /**
   * Takes a connection; waits as long as the library has it wait.
   *
   * @throws CallFailed none could be opened
   */
  Connection take() throws CallFailed, InterruptedException;

  /** Calls that the open model makes at the same time: more would only wait for a connection. */
  int callsAtOnce();

  /** Connections that are open now. */
  int connected();

  Counts counts();

  /** What became of the connections so far. */
  record Counts(long opened, long lost, long failed, long closedIdle) {}
}
