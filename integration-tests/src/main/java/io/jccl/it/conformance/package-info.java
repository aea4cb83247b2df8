/**
 * The conformance kit: what every backend must pass, runnable on every rank of a world with no test
 * framework, so that it also runs where there is none.
 */
package io.jccl.it.conformance;
