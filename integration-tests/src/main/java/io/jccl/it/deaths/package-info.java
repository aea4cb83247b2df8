/**
 * Ranks that die: real processes that are killed, stopped, or call something else than the others,
 * and what becomes of those that are left.
 */
package io.jccl.it.deaths;
