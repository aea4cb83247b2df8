/** Model code as a host application has it: it knows {@code io.jccl.comm} and no provider. */
module io.jccl.examples {
  requires transitive io.jccl.comm;

  exports io.jccl.examples.experts;
  exports io.jccl.examples.matrix;
  exports io.jccl.examples.training;
  exports io.jccl.examples.transformer;
}
