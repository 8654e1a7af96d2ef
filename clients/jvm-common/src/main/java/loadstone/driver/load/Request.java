package loadstone.driver.load;

/**
 * One operation that was drawn.
 *
 * @param operation its place in the plan
 * @param version the version to be written; of a read the newest when it began, of a read-back the one that is due
 * @param seq its number in the drive
 * @param known the key held a document for certain
 * @param alone no other write of the key was in flight
 * @param others the operation's other keys
 */
public record Request(int operation, long key, long version, long seq, boolean known, boolean alone, long[] others) {
  private static final long[] NO_OTHERS = {};

  /** An operation of one key. */
  public Request(int operation, long key, long version, long seq, boolean known, boolean alone) {
    this(operation, key, version, seq, known, alone, NO_OTHERS);
  }
}
