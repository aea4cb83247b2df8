/**
 * What only a GPU can show: run on one by {@code comm-nccl/pack}, and on a simulation by a test.
 */
package io.jccl.it.gpu;
