/** What ranks do while one of them is killed. */
package io.jccl.it.deaths;
