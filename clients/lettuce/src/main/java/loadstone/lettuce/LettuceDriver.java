package loadstone.lettuce;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.SslVerifyMode;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.ProtocolVersion;
import java.time.Duration;
import java.util.Map;
import loadstone.driver.Program;
import loadstone.driver.client.CallFailed;
import loadstone.driver.client.Client;
import loadstone.driver.client.Library;
import loadstone.driver.client.Trust;
import loadstone.driver.client.Versions;
import loadstone.driver.plan.Plan;
import loadstone.driver.plan.Plan.Endpoint;
import loadstone.driver.plan.Plan.Protocol;
import loadstone.driver.plan.Plan.Tls;
import loadstone.driver.plan.Refused;

/** Drives with Lettuce's synchronous commands: over one connection that all threads share, or over a pool of them. */
public final class LettuceDriver implements Library {
  /** PING or HELLO, the connection's name, the library's name: one after the other. */
  private static final int GREETING_ROUND_TRIPS = 3;

  public static void main(String[] arguments) {
    Program.main(new LettuceDriver());
  }

  @Override
  public String name() {
    return "lettuce";
  }

  @Override
  public String version() {
    return Versions.of("io.lettuce", "lettuce-core");
  }

  @Override
  public Client open(Plan plan, Map<String, String> options) throws CallFailed, Refused {
    RedisClient client = RedisClient.create(uri(plan));
    client.setOptions(clientOptions(plan));
    Watch watch = new Watch();
    client.addListener(watch);
    try {
      return isShared(plan, options)
          ? new SharedClient(client, watch, plan)
          : new PooledClient(client, watch, plan, options);
    } catch (RedisException error) {
      throw CallFailed.connecting(error);
    }
  }

  /** A pool of one connection is what all threads may as well share. */
  private static boolean isShared(Plan plan, Map<String, String> options) {
    String chosen = options.getOrDefault("shared", "auto");
    return chosen.equals("on") || chosen.equals("auto") && plan.pool().connections() == 1;
  }

  private static RedisURI uri(Plan plan) {
    Endpoint endpoint = plan.endpoint();
    RedisURI.Builder uri = RedisURI.Builder.redis(endpoint.host(), endpoint.port())
        .withDatabase(endpoint.database())
        .withClientName("loadstone")
        .withTimeout(duration(GREETING_ROUND_TRIPS * plan.timeouts().connectMs()));
    if (endpoint.password() != null && endpoint.username() != null) {
      uri.withAuthentication(endpoint.username(), endpoint.password().toCharArray());
    } else if (endpoint.password() != null) {
      uri.withPassword(endpoint.password().toCharArray());
    }
    if (endpoint.tls() != null) {
      uri.withSsl(true).withVerifyPeer(endpoint.tls().verify() ? SslVerifyMode.FULL : SslVerifyMode.NONE);
    }
    return uri.build();
  }

  private static ClientOptions clientOptions(Plan plan) throws Refused {
    ClientOptions.Builder options = ClientOptions.builder()
        .protocolVersion(plan.protocol() == Protocol.RESP3 ? ProtocolVersion.RESP3 : ProtocolVersion.RESP2)
        .socketOptions(SocketOptions.builder().connectTimeout(duration(plan.timeouts().connectMs())).build())
        // By a notice of maintenance (MOVING, over RESP3) a server could send us, and the password, to any other host.
        .maintNotificationsConfig(MaintNotificationsConfig.disabled())
        // What was sent over a connection that was lost is not sent again: the server may have done it.
        .replayFilter(command -> true);
    if (plan.endpoint().tls() != null) {
      options.sslOptions(sslOptions(plan.endpoint().tls()));
    }
    return options.build();
  }

  private static SslOptions sslOptions(Tls tls) throws Refused {
    SslOptions.Builder options = SslOptions.builder().jdkSslProvider();
    if (tls.verify()) {
      options.trustManager(Trust.authorities(tls));
    }
    return options.sslParameters(() -> Trust.parameters(tls)).build();
  }

  /** A new connection. A round trip of its greeting has the time of connecting, a reply after it that of a request. */
  static StatefulRedisConnection<byte[], byte[]> connect(RedisClient client, Plan plan) {
    StatefulRedisConnection<byte[], byte[]> connection = client.connect(ByteArrayCodec.INSTANCE);
    connection.setTimeout(duration(plan.timeouts().requestMs()));
    return connection;
  }

  private static Duration duration(double ms) {
    return Duration.ofNanos((long) Math.min(ms * 1e6, 9e18));
  }
}
