package loadstone.driver.run;

/** Whether the server can be reached. For all threads. */
final class Reach {
  private record Failing(long sinceNs, String last) {}

  private Failing failing;

  /** A call failed for its connection, or there was no connection. {@code lastReplyNs}: when the last reply came. */
  synchronized void failed(long nowNs, long lastReplyNs, String why) {
    boolean goesOn = failing != null && failing.sinceNs > lastReplyNs;
    failing = new Failing(goesOn ? failing.sinceNs : nowNs, why);
  }

  /** Why the server is taken to be gone: no reply since then, and nothing but failures for so long; else null. */
  synchronized String gone(long nowNs, long lastReplyNs, double goneS) {
    boolean isGone = failing != null && failing.sinceNs > lastReplyNs && nowNs - failing.sinceNs > goneS * 1e9;
    return isGone ? String.format("server gone: no connection for %.1f s, last: %s", goneS, failing.last) : null;
  }
}
