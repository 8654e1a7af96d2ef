package loadstone.lettuce;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.support.ConnectionPoolSupport;
import java.util.Map;
import loadstone.driver.client.CallFailed;
import loadstone.driver.client.Client;
import loadstone.driver.client.Connection;
import loadstone.driver.client.PoolSettings;
import loadstone.driver.plan.Plan;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;

/** A pool of commons-pool2, as Lettuce makes it. */
final class PooledClient implements Client {
  private final Watch watch;
  private final GenericObjectPool<StatefulRedisConnection<byte[], byte[]>> pool;

  PooledClient(RedisClient client, Watch watch, Plan plan, Map<String, String> options) throws CallFailed {
    this.watch = watch;
    GenericObjectPoolConfig<StatefulRedisConnection<byte[], byte[]>> config = new GenericObjectPoolConfig<>();
    PoolSettings.apply(plan.pool(), options, config);
    // Connections are given back to the pool, not closed: they need no wrapper that does so.
    pool = ConnectionPoolSupport.createGenericObjectPool(() -> LettuceDriver.connect(client, plan), config, false);
    try {
      pool.addObjects(plan.pool().openedBefore());
    } catch (Exception error) {
      throw CallFailed.connecting(error);
    }
  }

  @Override
  public Connection take() throws CallFailed, InterruptedException {
    try {
      return new LettuceConnection(pool.borrowObject(), pool::returnObject);
    } catch (InterruptedException interrupted) {
      throw interrupted;
    } catch (RedisException error) {
      watch.failed.incrementAndGet();
      throw CallFailed.connecting(error);
    } catch (Exception error) {
      throw new CallFailed(CallFailed.Kind.CONNECTION_FAILED, String.valueOf(error.getMessage()));
    }
  }

  @Override
  public int callsAtOnce() {
    return pool.getMaxTotal();
  }

  @Override
  public int connected() {
    return watch.connected();
  }

  @Override
  public Counts counts() {
    long closed = pool.getDestroyedCount();
    return new Counts(watch.opened.get(), Math.max(0, watch.ended.get() - closed), watch.failed.get(), closed);
  }
}
