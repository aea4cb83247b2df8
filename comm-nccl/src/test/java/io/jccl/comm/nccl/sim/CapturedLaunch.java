package io.jccl.comm.nccl.sim;

import java.util.List;

/** A NCCL kernel in a graph: every launch of the graph issues its calls anew. */
record CapturedLaunch(SimComm comm, List<NcclCall> calls) {}
