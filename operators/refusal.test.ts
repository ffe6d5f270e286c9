import { expect, it } from "vitest";
import { refusedResponse } from "./refusal.ts";
import { aRequest, NOW, received } from "./values.testing.ts";

const problem = { status: "refused", code: "no_messages", message: "say something" } as const;

it("owes a refused request one response, under its id and on the partition the client reads", () => {
  const emit = refusedResponse(
    { ...received(aRequest({ id: null, replyPartition: 3 })), timestamp: NOW },
    problem,
    NOW + 10,
    8,
  );
  expect(emit).toMatchObject({
    output: "responses",
    key: "precedent.requests-2-7",
    partition: 3,
    record: {
      requestId: "precedent.requests-2-7",
      status: "refused",
      attempt: 0,
      source: "none",
      cost: 0,
      error: { code: "no_messages", message: "say something" },
      timings: { plan: 8, total: 10 },
    },
  });
});

it("goes by the key where the wanted partition does not exist", () => {
  for (const replyPartition of [null, -1, 8, 1e9])
    expect(refusedResponse(received(aRequest({ replyPartition })), problem, NOW, 8)).not.toHaveProperty("partition");
});
