package loadstone.jedis;

import java.security.GeneralSecurityException;
import java.util.Map;
import javax.net.ssl.SSLContext;
import loadstone.driver.Program;
import loadstone.driver.client.CallFailed;
import loadstone.driver.client.Client;
import loadstone.driver.client.Library;
import loadstone.driver.client.PoolSettings;
import loadstone.driver.client.Trust;
import loadstone.driver.client.Versions;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Plan.Endpoint;
import loadstone.driver.plan.Plan.Protocol;
import loadstone.driver.plan.Refused;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Drives with Jedis: a {@link JedisPool}, of which each thread borrows a connection for one operation. There is a newer
 * client in Jedis, but this is the pool that applications and their frameworks use.
 */
@SuppressWarnings("deprecation")
public final class JedisDriver implements Library {
  public static void main(String[] arguments) {
    Program.main(new JedisDriver());
  }

  @Override
  public String name() {
    return "jedis";
  }

  @Override
  public String version() {
    return Versions.of("redis.clients", "jedis");
  }

  @Override
  public Client open(Plan plan, Map<String, String> options) throws CallFailed, Refused {
    Endpoint endpoint = plan.endpoint();
    JedisPoolConfig settings = new JedisPoolConfig();
    PoolSettings.apply(plan.pool(), options, settings);
    HostAndPort server = new HostAndPort(endpoint.host(), endpoint.port());
    JedisPool pool = new JedisPool(settings, new Connections(server, config(plan), ms(plan.timeouts().requestMs())));
    try {
      pool.addObjects(plan.pool().openedBefore());
    } catch (JedisException error) {
      throw CallFailed.connecting(error);
    }
    return new JedisClient(pool);
  }

  private static DefaultJedisClientConfig config(Plan plan) throws Refused {
    Endpoint endpoint = plan.endpoint();
    DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder()
        .timeoutMillis(ms(plan.timeouts().connectMs()))
        .database(endpoint.database())
        .clientName("loadstone");
    if (plan.protocol() == Protocol.RESP3) {
      speakResp3(config);
    }
    if (endpoint.password() != null) {
      config.user(endpoint.username()).password(endpoint.password());
    }
    if (endpoint.tls() != null) {
      config.ssl(true)
          .sslSocketFactory(context(endpoint.tls()).getSocketFactory())
          .sslParameters(Trust.parameters(endpoint.tls()));
    }
    return config.build();
  }

  /** Jedis 4 does not know of protocols: it is compiled with it, too, and asked by name. */
  private static void speakResp3(DefaultJedisClientConfig.Builder config) throws Refused {
    try {
      Class<?> protocols = Class.forName("redis.clients.jedis.RedisProtocol");
      Object resp3 = protocols.getField("RESP3").get(null);
      DefaultJedisClientConfig.Builder.class.getMethod("protocol", protocols).invoke(config, resp3);
    } catch (ReflectiveOperationException error) {
      throw new Refused("protocol", "RESP3 takes Jedis 5 or newer");
    }
  }

  /** To Jedis a time limit of 0 is none. */
  private static int ms(double limit) {
    return (int) Math.max(1, Math.min(limit, Integer.MAX_VALUE));
  }

  private static SSLContext context(Plan.Tls tls) throws Refused {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, Trust.managers(tls), null);
      return context;
    } catch (GeneralSecurityException error) {
      throw new Refused("endpoints.tls", error.getMessage());
    }
  }
}
