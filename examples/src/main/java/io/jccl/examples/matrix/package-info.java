/** The arithmetic of the examples: plain loops over floats. */
package io.jccl.examples.matrix;
