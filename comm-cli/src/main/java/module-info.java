/** The command line of jccl, and a launcher of ranks on one host. */
module io.jccl.comm.cli {
  requires com.google.gson;
  requires info.picocli;
  requires transitive io.jccl.comm;
  requires io.jccl.comm.torchdist;
  requires java.desktop;
  requires java.management;
  requires org.knowm.xchart;
  requires org.slf4j;

  exports io.jccl.comm.cli;

  uses io.jccl.comm.spi.CommBackendProvider;

  opens io.jccl.comm.cli to
      info.picocli;
}
