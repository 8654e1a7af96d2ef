package loadstone.driver.run;

/** Where operations come from: the users of the closed model, or the arrivals of the open one. */
interface Source {
  /** Begins at the timeline's origin. */
  void start();

  /** Whether nothing more will be offered. */
  boolean hasEnded();

  /** Whether that is so because there is no more work, though there were time for it. */
  boolean isUsedUp();

  /** Users who began and did not end; 0 in the open model. */
  int users();
}
