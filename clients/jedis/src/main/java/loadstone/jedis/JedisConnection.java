package loadstone.jedis;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import loadstone.driver.client.CallFailed;
import loadstone.driver.client.Connection;
import loadstone.driver.client.Replies;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.KeyValue;

/** A connection that was borrowed from a pool of Jedis. */
final class JedisConnection implements Connection {
  private final Jedis jedis;
  private final AtomicLong lost;

  private record Name(byte[] name) implements ProtocolCommand {
    @Override
    public byte[] getRaw() {
      return name;
    }
  }

  JedisConnection(Jedis jedis, AtomicLong lost) {
    this.jedis = jedis;
    this.lost = lost;
  }

  @Override
  public Object call(byte[][] command) throws CallFailed {
    try {
      return plain(jedis.sendCommand(new Name(command[0]), Arrays.copyOfRange(command, 1, command.length)));
    } catch (JedisDataException error) {
      return new Replies.ServerError(error.getMessage());
    } catch (JedisConnectionException error) {
      if (isNoReply(error)) {
        throw new CallFailed(CallFailed.Kind.PROTOCOL, error.getMessage());
      }
      throw CallFailed.calling(error);
    } catch (NegativeArraySizeException | IllegalArgumentException | StackOverflowError error) {
      // What Jedis breaks off at: a length that none can have, lists in lists without end. The rest of it is still to come.
      jedis.getConnection().setBroken();
      throw new CallFailed(CallFailed.Kind.PROTOCOL, "Jedis cannot read the reply: " + error);
    }
  }

  /** Jedis reports a reply that is no RESP as it reports a lost connection. */
  private static boolean isNoReply(JedisConnectionException error) {
    String text = error.getMessage();
    return text != null && text.startsWith("Unknown reply");
  }

  @Override
  public void giveBack() {
    if (jedis.isBroken()) {
      lost.incrementAndGet();
    }
    try {
      jedis.close();
    } catch (JedisException error) {
      // The pool tried to open another connection for those that wait, and could not: whoever takes one next finds out.
    }
  }

  /** A reply as {@link Connection#call} has it; Jedis does not tell a status from other text. */
  private static Object plain(Object reply) {
    if (reply == null || reply instanceof byte[] || reply instanceof Long) {
      return reply;
    }
    if (!(reply instanceof List<?> items)) {
      return Replies.OTHER;
    }
    List<Object> flat = new ArrayList<>(items.size());
    for (Object item : items) {
      if (item instanceof KeyValue<?, ?> pair) {
        flat.add(plain(pair.getKey()));
        flat.add(plain(pair.getValue()));
      } else {
        flat.add(plain(item));
      }
    }
    return flat;
  }
}
