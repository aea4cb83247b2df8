package io.jccl.comm.internal;

import io.jccl.comm.Communicator;
import io.jccl.comm.spi.CommEngine;
import io.jccl.comm.spi.EngineAccess;
import java.util.function.Function;

/** {@link EngineAccess} to the engine of a {@link CommCore}. */
record CoreAccess(CommCore core, Communicator communicator) implements EngineAccess {

  @Override
  public <R> R call(String what, Function<CommEngine, R> body) {
    return core.callEngine(what, body);
  }
}
