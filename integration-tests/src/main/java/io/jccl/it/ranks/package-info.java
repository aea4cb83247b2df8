/** Starting ranks. */
package io.jccl.it.ranks;
