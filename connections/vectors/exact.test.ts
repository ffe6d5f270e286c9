import { createExactIndexes } from "./exact.ts";
import { describeVectorIndex } from "./contract.ts";

describeVectorIndex("exact", async (dimension) => createExactIndexes(dimension));
