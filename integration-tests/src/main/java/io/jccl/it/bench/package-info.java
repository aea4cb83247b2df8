/**
 * Benchmarks: of the path that every call takes, of loopback, and of torchdist against the same
 * calls made to the presets by hand. {@code integration-tests/bench} builds and runs them.
 */
package io.jccl.it.bench;
