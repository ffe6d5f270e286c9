// intake of feedback: from a tenant's own topic to the one of all, under the tenant whose topic it
// is. Exactly-once.
import { createIntakeFeedback, intakeFeedbackContract } from "../../operators/intake/feedback.ts";
import { pipeline } from "../../runtime/pipeline.ts";

export const intakeFeedback = pipeline()
  .declare(
    {
      name: "intake-feedback",
      sources: ["tenant-feedback"],
      tables: [],
      outputs: ["feedback", "dead-letters"],
    },
    intakeFeedbackContract,
  )
  .step("intake", createIntakeFeedback)
  .end();
