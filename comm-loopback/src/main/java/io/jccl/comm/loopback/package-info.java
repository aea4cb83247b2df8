/** The provider {@code loopback}: all ranks are threads of one JVM, with no native code at all. */
package io.jccl.comm.loopback;
