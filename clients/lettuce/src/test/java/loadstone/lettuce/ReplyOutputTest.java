package loadstone.lettuce;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.nio.ByteBuffer;
import java.util.List;
import loadstone.driver.client.Replies;
import org.junit.jupiter.api.Test;

class ReplyOutputTest {
  private final ReplyOutput output = new ReplyOutput();

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(UTF_8));
  }

  private static String text(Object item) {
    return new String(assertInstanceOf(byte[].class, item), UTF_8);
  }

  @Test
  void aTextAStatusAnIntegerAndNil() {
    output.set(bytes("x"));
    assertEquals("x", text(output.get()));
    output.setSingle(bytes("OK"));
    assertArrayEquals("OK".getBytes(UTF_8), assertInstanceOf(Replies.Status.class, output.get()).text());
    output.set(7);
    assertEquals(7L, output.get());
    output.set((ByteBuffer) null);
    assertNull(output.get());
    output.set(0.5);
    assertSame(Replies.OTHER, output.get());
  }

  @Test
  void listsInLists() {
    output.multi(3);
    output.multi(1);
    output.set(bytes("a"));
    output.multi(0);
    output.set(bytes("b"));
    List<?> items = assertInstanceOf(List.class, output.get());
    assertEquals(3, items.size());
    assertEquals("a", text(((List<?>) items.get(0)).get(0)));
    assertEquals(List.of(), items.get(1));
    assertEquals("b", text(items.get(2)));
  }

  @Test
  void aMapIsWhatIsInIt() {
    output.multiMap(1);
    output.set(bytes("name"));
    output.set(bytes("value"));
    List<?> items = assertInstanceOf(List.class, output.get());
    assertEquals(List.of("name", "value"), items.stream().map(ReplyOutputTest::text).toList());
  }

  @Test
  void aListThatIsNil() {
    output.multi(-1);
    assertNull(output.get());
  }
}
