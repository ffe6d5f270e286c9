// outlet of second answers: a copy of each to the topic of its tenant alone. Exactly-once.
import { createOutlet, outletContract } from "../../operators/outlet/outlet.ts";
import { pipeline } from "../../runtime/pipeline.ts";

export const outletAlternatives = pipeline()
  .declare(
    {
      name: "outlet-alternatives",
      sources: ["alternatives"],
      tables: [],
      outputs: ["tenant-alternatives", "dead-letters"],
    },
    outletContract,
  )
  .step("outlet", createOutlet("tenant-alternatives"))
  .end();
