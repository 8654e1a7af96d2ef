package loadstone.lettuce;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import loadstone.driver.client.Replies;

/** Any reply, as {@link loadstone.driver.client.Connection#call} has it. */
final class ReplyOutput extends CommandOutput<byte[], byte[], Object> {
  private static final int MOST_AT_FIRST = 1024;

  /** A list that has not all of its items yet. */
  private static final class Open {
    final List<Object> items;
    int left;

    Open(int count) {
      // A server has only to announce a length: what is not there yet takes no memory.
      items = new ArrayList<>(Math.min(count, MOST_AT_FIRST));
      left = count;
    }
  }

  private Deque<Open> open;

  ReplyOutput() {
    super(ByteArrayCodec.INSTANCE, null);
  }

  @Override
  public void set(ByteBuffer bytes) {
    add(bytes == null ? null : codec.decodeValue(bytes));
  }

  @Override
  public void setSingle(ByteBuffer bytes) {
    add(bytes == null ? null : new Replies.Status(codec.decodeValue(bytes)));
  }

  @Override
  public void set(long integer) {
    add(integer);
  }

  @Override
  public void set(double number) {
    add(Replies.OTHER);
  }

  @Override
  public void set(boolean flag) {
    add(Replies.OTHER);
  }

  @Override
  public void setBigNumber(ByteBuffer bytes) {
    add(Replies.OTHER);
  }

  @Override
  public void multi(int count) {
    if (count < 0) {
      add(null);
      return;
    }
    Open list = new Open(count);
    add(list.items);
    if (count > 0) {
      open = open == null ? new ArrayDeque<>() : open;
      open.push(list);
    }
  }

  private void add(Object item) {
    if (open == null || open.isEmpty()) {
      output = item;
      return;
    }
    Open list = open.peek();
    list.items.add(item);
    list.left--;
    // The item itself may be a list: what it belongs to is complete all the same once that is.
    while (!open.isEmpty() && open.peek().left == 0) {
      open.pop();
    }
  }
}
