package loadstone.driver.record;

/** The members of the measure phase of one operation, followed to their end. */
final class Measured {
  final Tally tally = new Tally();
  long windowCompleted;
  long windowOk;
  long responseSumNs;
  /** Time of the measure phase that went to operations which had begun before it. */
  long earlierNs;

  void add(Measured other) {
    tally.add(other.tally);
    windowCompleted += other.windowCompleted;
    windowOk += other.windowOk;
    responseSumNs += other.responseSumNs;
    earlierNs += other.earlierNs;
  }
}
