// outlet of answers: a copy of each to the topic of its tenant alone. Exactly-once.
import { createOutlet, outletContract } from "../../operators/outlet/outlet.ts";
import { pipeline } from "../../runtime/pipeline.ts";

export const outletResponses = pipeline()
  .declare(
    {
      name: "outlet-responses",
      sources: ["responses"],
      tables: [],
      outputs: ["tenant-responses", "dead-letters"],
    },
    outletContract,
  )
  .step("outlet", createOutlet("tenant-responses"))
  .end();
