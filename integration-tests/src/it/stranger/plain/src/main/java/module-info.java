module com.example.stranger {
  requires io.jccl.comm;
}
