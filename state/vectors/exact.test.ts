import { createExactIndexes } from "./exact.ts";
import { describeVectorIndex } from "./contract.testing.ts";

describeVectorIndex("exact", async (dimension) => createExactIndexes(dimension));
