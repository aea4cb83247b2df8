/**
 * A small decoder-only transformer: in tensor parallel, cut into pipeline stages, and with its
 * attention in data parallel.
 */
package io.jccl.examples.transformer;
