package io.jccl.comm.torchdist;

import io.jccl.comm.torchdist.C10dRendezvous.C10dAddress;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.PrefixStore;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;

/**
 * libtorch's client of a c10d store, as a process group takes it.
 *
 * <p>It must outlive the process group, and each of the two stores must be handed over once only.
 * The presets make them by plain {@code new} and free them by {@code delete}, outside of the
 * reference counts that c10d keeps in them: freeing one while a process group refers to it leaves
 * that with a dangling pointer, and c10d refuses to count an object anew that has been counted
 * before.
 */
final class C10dStore implements AutoCloseable {
  private final TCPStore client;
  private final PrefixStore prefixed;

  /**
   * @throws RuntimeException of c10d if the server is not reached within the timeout
   */
  C10dStore(C10dAddress address, long timeoutMillis) {
    try (Milliseconds timeout = new Milliseconds(timeoutMillis);
        TCPStoreOptions options = new TCPStoreOptions()) {
      // A uint16_t, which the presets show as a short.
      options.port((short) address.port());
      options.isServer(false);
      options.waitWorkers(false);
      options.timeout(timeout);
      client = Natives.keep(new TCPStore(address.host(), options));
    }
    prefixed = Natives.keep(new PrefixStore(address.prefix(), client));
  }

  /** For one process group. */
  Store store() {
    return prefixed;
  }

  @Override
  public void close() {
    prefixed.deallocate();
    client.deallocate();
  }
}
