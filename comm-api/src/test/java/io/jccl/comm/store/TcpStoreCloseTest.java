package io.jccl.comm.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jccl.comm.CommException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A rank that hosts the store and is done first. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class TcpStoreCloseTest {
  private static final Duration LONG = Duration.ofMinutes(1);

  @Test
  void aHostThatIsDoneFirstLetsTheOthersFinish() throws Exception {
    TcpStore host = TcpStore.host("127.0.0.1", 0, LONG);
    TcpStore client = TcpStore.connect("127.0.0.1", host.port(), LONG);
    host.set("result", new byte[] {7});
    CompletableFuture<Void> closing = CompletableFuture.runAsync(() -> host.closeAfterOthers(LONG));
    assertArrayEquals(new byte[] {7}, client.get("result"));
    assertFalse(closing.isDone());
    client.close();
    closing.get(1, TimeUnit.MINUTES);
  }

  @Test
  void aClientThatNeverLeavesIsNotWaitedForLongerThanTheGrace() {
    TcpStore host = TcpStore.host("127.0.0.1", 0, LONG);
    try (TcpStore client = TcpStore.connect("127.0.0.1", host.port(), Duration.ofSeconds(2))) {
      host.closeAfterOthers(Duration.ofMillis(50));
      assertThrows(CommException.class, () -> client.get("result", Duration.ofSeconds(1)));
    }
  }
}
