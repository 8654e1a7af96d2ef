package loadstone.lettuce;

import io.lettuce.core.RedisClient;
import loadstone.driver.client.Client;
import loadstone.driver.client.Connection;
import loadstone.driver.plan.Plan;

/** One connection that all threads share; nobody waits for it. */
final class SharedClient implements Client {
  /** Threads of the open model: so many calls wait for their replies at the same time. */
  private static final int CALLS_AT_ONCE = 256;

  private final Watch watch;
  private final Connection connection;

  SharedClient(RedisClient client, Watch watch, Plan plan) {
    this.watch = watch;
    connection = new LettuceConnection(LettuceDriver.connect(client, plan), shared -> {});
  }

  @Override
  public Connection take() {
    return connection;
  }

  @Override
  public int callsAtOnce() {
    return CALLS_AT_ONCE;
  }

  @Override
  public int connected() {
    return watch.connected();
  }

  @Override
  public Counts counts() {
    return new Counts(watch.opened.get(), watch.ended.get(), watch.failed.get(), 0);
  }
}
