/** A mixture-of-experts layer in expert parallel. */
package io.jccl.examples.experts;
