package loadstone.lettuce;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import java.net.SocketAddress;
import java.util.concurrent.atomic.AtomicLong;

/** Counts connections as they come and go, those included that Lettuce opens again by itself. */
final class Watch implements RedisConnectionStateListener {
  final AtomicLong opened = new AtomicLong();
  final AtomicLong ended = new AtomicLong();
  final AtomicLong failed = new AtomicLong();

  @Override
  public void onRedisConnected(RedisChannelHandler<?, ?> connection, SocketAddress address) {
    opened.incrementAndGet();
  }

  @Override
  public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
    ended.incrementAndGet();
  }

  int connected() {
    return (int) (opened.get() - ended.get());
  }
}
