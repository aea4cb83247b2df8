package io.jccl.comm.nccl.sim;

import io.jccl.comm.nccl.result.NcclException;
import io.jccl.comm.nccl.result.NcclResult;

/** Makes the exception of a result, and keeps its detail for ncclGetLastError. */
interface NcclErrorSource {
  NcclException error(String function, NcclResult result, String detail);
}
