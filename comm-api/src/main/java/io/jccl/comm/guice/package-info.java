/** jccl in an application that Guice wires. Guice is on the path only where this is used. */
package io.jccl.comm.guice;
