package loadstone.driver.load;

import java.util.concurrent.atomic.AtomicLongArray;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Plan.Writes;
import loadstone.driver.plan.Refused;

/**
 * Which versions of each key there are, if the plan writes: in 64 bits the newest version that was begun, the writes in
 * flight, and whether a document is stored for certain. For all threads.
 */
public final class KeyStates {
  private static final long IN_FLIGHT_ONE = 1L << 32;
  private static final long STORED = 1L << 63;
  private static final long MOST_KEYS = 1L << 26;

  private final AtomicLongArray states;
  private final long atStart;

  /** Takes 8 bytes a key if the plan writes. */
  public KeyStates(Plan plan) throws Refused {
    long count = plan.keys().count();
    atStart = plan.keys().loaded() ? STORED | 1 : 0;
    boolean writes = plan.operations().stream().anyMatch(operation -> operation.writes() != Writes.NOTHING);
    if (writes && count > MOST_KEYS) {
      throw new Refused("keys.count", count + ": this driver follows the versions of at most " + MOST_KEYS + " keys");
    }
    states = new AtomicLongArray(writes ? (int) count : 0);
    for (int key = 0; key < states.length(); key++) {
      states.setPlain(key, atStart);
    }
  }

  public static long version(long state) {
    return state & 0xffff_ffffL;
  }

  static boolean inFlight(long state) {
    return (state & ~STORED) >>> 32 != 0;
  }

  static boolean stored(long state) {
    return (state & STORED) != 0;
  }

  /** The key as it is now. */
  public long of(long key) {
    return states.length() == 0 ? atStart : states.get((int) key);
  }

  /** Begins a write of the next version. Returns the key as it was before. */
  long beginWrite(long key) {
    return states.getAndAdd((int) key, IN_FLIGHT_ONE + 1);
  }

  /** Ends a write that was begun: its reply came, or it was never sent. */
  void endWrite(long key, boolean stores) {
    states.getAndUpdate((int) key, state -> (state - IN_FLIGHT_ONE) | (stores ? STORED : 0));
  }
}
