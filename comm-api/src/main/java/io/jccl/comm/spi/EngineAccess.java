package io.jccl.comm.spi;

import io.jccl.comm.Communicator;
import java.util.function.Function;

/**
 * The way to a communicator's engine for what a backend has beyond {@link Communicator}: under the
 * same rules as a call.
 */
public interface EngineAccess {

  /** {@return the communicator, in the view by which it was asked} */
  Communicator communicator();

  /**
   * Runs something on the engine that the communicator has now; a reconnect gives it another.
   *
   * <p>As with a collective, no other thread may be inside, the communicator must be usable, and a
   * {@link io.jccl.comm.CommException} poisons it.
   *
   * @param <R> the type of the result
   * @param what names it in messages
   * @param body what is done with the engine
   * @return what {@code body} returned
   */
  <R> R call(String what, Function<CommEngine, R> body);
}
