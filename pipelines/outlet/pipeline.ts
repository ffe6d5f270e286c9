// outlet: a copy of each (alternative) answer to the topic of its tenant alone. Exactly-once.
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
