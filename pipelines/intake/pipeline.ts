// intake: requests and feedback from a tenant's own topic to the one of all, under the tenant whose
// topic it is. Exactly-once.
import { createIntakeRequest, intakeRequestContract } from "../../operators/intake/requests.ts";
import { pipeline } from "../../runtime/pipeline.ts";
import { createIntakeFeedback, intakeFeedbackContract } from "../../operators/intake/feedback.ts";

export const intakeRequests = pipeline()
  .declare(
    {
      name: "intake-requests",
      sources: ["tenant-requests"],
      tables: [],
      outputs: ["requests", "responses", "dead-letters"],
    },
    intakeRequestContract,
  )
  .step("intake", createIntakeRequest)
  .end();

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
