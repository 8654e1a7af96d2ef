package loadstone.jedis;

import java.util.concurrent.atomic.AtomicLong;
import loadstone.driver.client.CallFailed;
import loadstone.driver.client.Client;
import loadstone.driver.client.Connection;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.exceptions.JedisException;

/** A pool of Jedis. */
@SuppressWarnings("deprecation")
final class JedisClient implements Client {
  private final JedisPool pool;
  private final AtomicLong lost = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();

  JedisClient(JedisPool pool) {
    this.pool = pool;
  }

  @Override
  public Connection take() throws CallFailed {
    try {
      return new JedisConnection(pool.getResource(), lost);
    } catch (JedisException error) {
      failed.incrementAndGet();
      throw CallFailed.connecting(error);
    }
  }

  @Override
  public int callsAtOnce() {
    return pool.getMaxTotal();
  }

  @Override
  public int connected() {
    return pool.getNumActive() + pool.getNumIdle();
  }

  @Override
  public Counts counts() {
    long notValid = pool.getDestroyedByBorrowValidationCount();
    long closedIdle = Math.max(0, pool.getDestroyedCount() - notValid - lost.get());
    return new Counts(pool.getCreatedCount(), lost.get() + notValid, failed.get(), closedIdle);
  }
}
