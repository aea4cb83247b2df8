/** Training in data parallel, with gradients reduced while the backward pass goes on. */
package io.jccl.examples.training;
