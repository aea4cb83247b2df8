/** Collectives between processes of one host, through memory that they share. */
module io.jccl.comm.shm {
  requires transitive io.jccl.comm;
  requires io.jccl.comm.loopback;
  requires org.slf4j;

  provides io.jccl.comm.spi.CommBackendProvider with
      io.jccl.comm.shm.ShmProvider;
}
