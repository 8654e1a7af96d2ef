package loadstone.jedis;

import org.apache.commons.pool2.PooledObject;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisFactory;

/**
 * Opens connections as {@link JedisFactory} does. Jedis has one time limit for whatever it reads; here the greeting has
 * the time of connecting, and each reply after it that of a request.
 */
@SuppressWarnings("deprecation")
final class Connections extends JedisFactory {
  private final int requestMs;

  /** {@code config} has the time limit of the greeting. */
  Connections(HostAndPort server, JedisClientConfig config, int requestMs) {
    super(server, config);
    this.requestMs = requestMs;
  }

  @Override
  public PooledObject<Jedis> makeObject() throws Exception {
    PooledObject<Jedis> made = super.makeObject();
    made.getObject().getConnection().setSoTimeout(requestMs);
    return made;
  }
}
