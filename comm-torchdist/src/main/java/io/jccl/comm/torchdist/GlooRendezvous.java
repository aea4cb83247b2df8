package io.jccl.comm.torchdist;

import io.jccl.comm.CommException;
import io.jccl.comm.CommTimeoutException;
import io.jccl.comm.spi.EngineContext;
import io.jccl.comm.store.TcpStore;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.gloo.Device;

/** How the members of a communicator over Gloo find each other. */
final class GlooRendezvous extends C10dRendezvous {
  GlooRendezvous(EngineContext context) {
    super(context, "gloo");
  }

  /** Gloo's connections stand when the process group is made. */
  @Override
  boolean needsStore() {
    return false;
  }

  @Override
  GlooEngine connect(C10dAddress address, GlooInterface chosen, Optional<TcpStore> hosted) {
    // All that is made here but the process group itself is freed at once: it has its references.
    try (PointerScope scope = new PointerScope()) {
      long millis = Math.max(1, remaining().toMillis());
      Device device = chosen.open();
      C10dStore c10dStore = new C10dStore(address, millis);
      GlooGroup group = new GlooGroup(c10dStore, context.rank(), context.size(), device, millis);
      return new GlooEngine(
          context.name(), group, new RollCall(store, context.group(), context.rank()));
    } catch (CommException e) {
      throw e;
    } catch (RuntimeException e) {
      String message =
          "communicator "
              + context.name()
              + ", rank "
              + context.rank()
              + " of "
              + context.size()
              + ": Gloo did not connect over "
              + chosen
              + ": "
              + C10dErrors.clean(e);
      throw C10dErrors.isTimeout(e) || remaining().toMillis() <= 1
          ? new CommTimeoutException(message, e)
          : new CommException(message, e);
    }
  }
}
