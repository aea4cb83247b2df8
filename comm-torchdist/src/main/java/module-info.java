/** PyTorch's c10d process groups through the JavaCPP PyTorch presets. */
module io.jccl.comm.torchdist {
  requires transitive io.jccl.comm;
  requires transitive org.bytedeco.pytorch;
  requires static org.bytedeco.cuda;
  requires org.slf4j;

  exports io.jccl.comm.torchdist;

  provides io.jccl.comm.spi.CommBackendProvider with
      io.jccl.comm.torchdist.TorchDistProvider;
}
