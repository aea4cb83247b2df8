/**
 * What a backend implements: {@link io.jccl.comm.spi.CommBackendProvider} to be found, {@link
 * io.jccl.comm.spi.EngineFactory} and {@link io.jccl.comm.spi.CommEngine} to do the work.
 *
 * <p>An engine is given calls that have been checked, one at a time and in order. Shapes,
 * validation, gathering along a dimension, token collectives, hooks, events, asynchronous calls on
 * the host and poisoning after a failure are written once, above it.
 */
package io.jccl.comm.spi;
