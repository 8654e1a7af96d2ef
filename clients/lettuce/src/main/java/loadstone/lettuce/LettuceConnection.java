package loadstone.lettuce;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.util.concurrent.CancellationException;
import java.util.function.Consumer;
import loadstone.driver.client.CallFailed;
import loadstone.driver.client.Connection;
import loadstone.driver.client.Replies;

/** A connection of Lettuce, used by its synchronous commands. */
final class LettuceConnection implements Connection {
  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final Consumer<StatefulRedisConnection<byte[], byte[]>> giveBack;

  private record Name(byte[] bytes) implements ProtocolKeyword {
    @Override
    public byte[] getBytes() {
      return bytes;
    }

    @Override
    public String toString() {
      return new String(bytes, US_ASCII);
    }
  }

  LettuceConnection(
      StatefulRedisConnection<byte[], byte[]> connection,
      Consumer<StatefulRedisConnection<byte[], byte[]>> giveBack) {
    this.connection = connection;
    this.giveBack = giveBack;
  }

  @Override
  public Object call(byte[][] command) throws CallFailed {
    CommandArgs<byte[], byte[]> arguments = new CommandArgs<>(ByteArrayCodec.INSTANCE);
    for (int argument = 1; argument < command.length; argument++) {
      arguments.add(command[argument]);
    }
    try {
      return connection.sync().dispatch(new Name(command[0]), new ReplyOutput(), arguments);
    } catch (RedisCommandExecutionException error) {
      return new Replies.ServerError(error.getMessage());
    } catch (RedisCommandTimeoutException error) {
      throw new CallFailed(CallFailed.Kind.TIMEOUT, error.getMessage());
    } catch (CancellationException error) {
      // Its connection was lost, and it is not sent again over the next one.
      throw new CallFailed(CallFailed.Kind.CONNECTION_CLOSED, "the connection was lost");
    } catch (RedisException error) {
      throw CallFailed.calling(error);
    } catch (IndexOutOfBoundsException | NegativeArraySizeException | IllegalArgumentException error) {
      // What Lettuce breaks off at: more lists in lists than it has room for, a length that none can have.
      throw new CallFailed(CallFailed.Kind.PROTOCOL, "Lettuce cannot read the reply: " + error);
    }
  }

  @Override
  public void giveBack() {
    giveBack.accept(connection);
  }
}
