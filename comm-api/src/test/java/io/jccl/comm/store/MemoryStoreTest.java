package io.jccl.comm.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.jccl.comm.CommAbortedException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class MemoryStoreTest extends StoreContract {
  private MemoryStore owner;

  @Override
  Store newUser() {
    if (owner == null) {
      owner = new MemoryStore(LONG);
      return owner;
    }
    return owner.view();
  }

  @Test
  void closingTheOwnerEndsTheWaitsOfItsViews() throws Exception {
    Store store = user();
    Store view = user();
    CountDownLatch started = new CountDownLatch(1);
    Future<byte[]> wait =
        start(
            () -> {
              started.countDown();
              return view.get("never", LONG);
            });
    started.await();
    store.close();
    assertInstanceOf(CommAbortedException.class, failure(wait));
    assertThrows(CommAbortedException.class, () -> view.set("k", bytes("1")));
  }

  @Test
  void closingAViewLeavesTheOthersOpen() throws Exception {
    Store store = user();
    Store view = user();
    view.set("k", bytes("1"));
    view.close();
    assertThrows(CommAbortedException.class, () -> view.check(List.of("k")));
    assertEquals("1", text(store.get("k", LONG)));
  }

  @Test
  void aNegativeTimeoutIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> new MemoryStore(Duration.ofSeconds(-1)));
  }
}
