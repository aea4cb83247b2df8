/** The API of jccl: what a host application compiles against, and what a provider implements. */
module io.jccl.comm {
  requires transitive org.bytedeco.javacpp;
  requires org.slf4j;
  requires org.apache.commons.lang3;

  exports io.jccl.comm;
  exports io.jccl.comm.spi;
  exports io.jccl.comm.store;
}
