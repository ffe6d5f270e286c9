import { createExactIndex } from "./exact.ts";
import { describeVectorIndex } from "./contract.ts";

describeVectorIndex("exact", async (dimension) => ({
  open: () => createExactIndex(dimension),
  stop: async () => undefined,
}));
