/**
 * The exchange of tensors through memory that all ranks of one host see.
 *
 * <p>{@link io.jccl.comm.loopback.exchange.ExchangeEngine} knows nothing of its peers but the bytes
 * of a {@link io.jccl.comm.loopback.exchange.SharedRegion}, laid out as {@link
 * io.jccl.comm.loopback.exchange.RegionLayout} says. So the ranks may be threads of one JVM or
 * processes that have mapped the same file.
 *
 * <p>Collectives whose sizes every rank knows go through {@code Slots}: each rank writes into
 * numbered slots of its own, and reads those of others. What only two ranks know the size of goes
 * through {@code Channels}: one ring for each ordered pair of ranks.
 */
package io.jccl.comm.loopback.exchange;
