// outlet of alternative answers: a copy of each to the topic of its tenant alone. Exactly-once.
import { createOutlet, outletContract } from "../../operators/outlet/outlet.ts";
import { pipeline } from "../../runtime/pipeline.ts";

export const outletAlternativeAnswers = pipeline()
  .declare(
    {
      name: "outlet-alternative-answers",
      sources: ["alternative-answers"],
      tables: [],
      outputs: ["tenant-alternative-answers", "dead-letters"],
    },
    outletContract,
  )
  .step("outlet", createOutlet("tenant-alternative-answers"))
  .end();
