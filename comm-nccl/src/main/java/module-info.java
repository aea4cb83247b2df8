/** NCCL through the JavaCPP CUDA presets. */
module io.jccl.comm.nccl {
  requires transitive io.jccl.comm;
  requires org.bytedeco.cuda;
  requires org.slf4j;

  exports io.jccl.comm.nccl;
  exports io.jccl.comm.nccl.result;

  uses io.jccl.comm.spi.CommBackendProvider;

  provides io.jccl.comm.spi.CommBackendProvider with
      io.jccl.comm.nccl.NcclProvider;
}
