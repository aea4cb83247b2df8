/** Long use in a short time, to see that nothing grows. */
package io.jccl.it.soak;
