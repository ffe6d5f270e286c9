// intake of requests: from a tenant's own topic to the one of all, under the tenant whose topic it
// is. Exactly-once.
import { createIntakeRequest, intakeRequestContract } from "../../operators/intake/requests.ts";
import { pipeline } from "../../runtime/pipeline.ts";

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
