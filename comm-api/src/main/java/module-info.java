/** The API of jccl: what a host application compiles against, and what a provider implements. */
module io.jccl.comm {
  requires transitive org.bytedeco.javacpp;
  requires jdk.jfr;
  requires jdk.unsupported;
  requires org.apache.commons.lang3;
  requires org.slf4j;
  requires static com.google.guice;
  requires static jakarta.inject;

  exports io.jccl.comm;
  exports io.jccl.comm.guice;
  exports io.jccl.comm.spi;
  exports io.jccl.comm.store;

  uses io.jccl.comm.CommHook;
  uses io.jccl.comm.spi.CommBackendProvider;

  provides io.jccl.comm.CommHook with
      io.jccl.comm.internal.LoggingHook,
      io.jccl.comm.internal.NanCheckHook;
}
