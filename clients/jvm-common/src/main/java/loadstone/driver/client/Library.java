package loadstone.driver.client;

import java.util.Map;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Refused;

/** A client library, as its module brings it. */
public interface Library {
  String name();

  /** Of the library that runs. */
  String version();

  /**
   * A client for the plan's server, with {@code pool.openedBefore()} connections open.
   *
   * @param options the manifest's options with their chosen values
   * @throws CallFailed no connection could be made
   * @throws Refused the plan has something that the library cannot do
   */
  Client open(Plan plan, Map<String, String> options) throws CallFailed, Refused;
}
