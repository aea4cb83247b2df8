/** Collectives between threads of one JVM, and the engine that shared memory shares with them. */
module io.jccl.comm.loopback {
  requires transitive io.jccl.comm;

  exports io.jccl.comm.loopback.exchange;

  provides io.jccl.comm.spi.CommBackendProvider with
      io.jccl.comm.loopback.LoopbackProvider;
}
