package loadstone.driver.client;

import java.util.Map;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Plan.Order;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;

/** The plan's pool as a pool of commons-pool2 has it; all else stays as the library has it. */
public final class PoolSettings {
  private PoolSettings() {}

  public static void apply(Plan.Pool pool, Map<String, String> options, GenericObjectPoolConfig<?> config) {
    int most = pool.connections();
    config.setMaxTotal(most);
    config.setMaxIdle(pool.maxIdle() == null ? most : pool.maxIdle());
    config.setMinIdle(pool.minIdle() == null ? most : pool.minIdle());
    config.setLifo(pool.order() == Order.LIFO);
    config.setTestOnBorrow("on".equals(options.get("test_on_borrow")));
    config.setTestOnReturn("on".equals(options.get("test_on_return")));
    config.setJmxEnabled(false);
  }
}
