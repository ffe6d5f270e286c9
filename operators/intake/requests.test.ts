import { describe, expect, it } from "vitest";
import type { Outcome, StepContext } from "../../runtime/step.ts";
import type { Request } from "../../schemas/types.ts";
import { aContext, aRequest, NOW, received } from "../values.testing.ts";
import { createIntakeRequest, intakeRequestContract } from "./requests.ts";

const topic = "p.requests.acme";
const tenantOf = (full: string): string | undefined => (full === topic ? "acme" : undefined);
const contract = intakeRequestContract({
  ...{ tenantOf, limits: { deadlineMs: 120_000, maxDeadlineMs: 3_600_000 } },
  ...{ partitions: () => 8, clock: () => NOW + 50 },
});
const intake = createIntakeRequest({ tenantOf });

/** waitedMs: in the tenant's topic. */
const arriving = (change: Partial<Request>, waitedMs = 3) => {
  const from = received(aRequest(change));
  return { ...from, position: { ...from.position, topic }, timestamp: NOW - waitedMs, receivedAt: NOW };
};
const take = (change: Partial<Request>, waitedMs?: number) => {
  const from = arriving(change, waitedMs);
  return intake(from, { ...aContext(), deadline: contract.deadline(from) } satisfies StepContext);
};
const copyOf = async (outcome: ReturnType<typeof take>): Promise<Request> => {
  const ended = (await outcome) as Outcome<{ emits: { output: string; record: Request }[] }>;
  if (ended.kind !== "ok") throw new Error(ended.kind);
  expect(ended.value.emits.map(({ output }) => output)).toEqual(["requests"]);
  return ended.value.emits[0]!.record;
};

describe("intake of requests", () => {
  it.each(["default", "", "  ", "acme"])("is the topic's tenant's where the record says %j", async (tenant) => {
    const given = aRequest({ tenant });
    expect(await copyOf(take({ tenant }))).toEqual({ ...given, tenant: "acme" });
  });

  it("counts against the budget of no key, whatever the record says", async () => {
    expect(await copyOf(take({ account: "key-of-beta" }))).toMatchObject({ account: null });
  });

  it.each(["beta", "Acme", "acme "])("goes to dead-letters where the record says %j", async (tenant) => {
    expect(await take({ tenant })).toEqual({
      ...{ kind: "deadLetter", code: "wrong_tenant" },
      reason: `the record says that its tenant is ${JSON.stringify(tenant)}, in a topic of "acme"`,
    });
  });

  it("tells a claim that is long in part", async () => {
    const outcome = await take({ tenant: "b".repeat(10_000) });
    expect(outcome.kind === "deadLetter" && outcome.reason.length).toBeLessThan(300);
  });

  it("is named and dated by where and when the tenant put it", async () => {
    const named = { id: "p.requests.acme-2-7", createdAt: NOW - 3 };
    for (const id of [null, ""]) expect(await copyOf(take({ id, createdAt: null }))).toMatchObject(named);
    expect(await take({ id: null })).toMatchObject({ value: { emits: [{ key: named.id }] } });
  });

  it("keeps an id that is too long, which plan refuses", async () => {
    const id = "i".repeat(300);
    expect(await copyOf(take({ id }))).toMatchObject({ id });
    expect(await take({ id })).toMatchObject({
      value: { emits: [{ key: expect.stringMatching(/^sha256:/) as string }] },
    });
  });

  it("leaves of the deadline what is left where it has waited long", async () => {
    const allow = { ...aRequest().allow, deadlineMs: 60_000 };
    expect((await copyOf(take({ allow }, 4_000))).allow).toEqual(allow);
    expect((await copyOf(take({ allow }, 20_000))).allow).toEqual({ ...allow, deadlineMs: 40_000 });
    expect((await copyOf(take({}, 20_000))).allow.deadlineMs).toBe(100_000);
    expect(await take({ allow }, 60_000)).toMatchObject({ kind: "refuse", code: "deadline_exceeded" });
  });

  it("throws where the topic is no tenant's: a bug", () => {
    expect(() => intake(received(aRequest()), aContext())).toThrow("no tenant's topic");
  });
});

describe("what is owed", () => {
  const problem = { status: "refused", code: "deadline_exceeded", message: "late" } as const;

  it("is a response of the topic's tenant, by the name that the request has here", () => {
    const owed = contract.answer(arriving({ id: null, tenant: "default", replyPartition: 3 }), problem);
    const record = { requestId: "p.requests.acme-2-7", tenant: "acme", status: "refused" };
    expect(owed).toMatchObject([{ output: "responses", partition: 3, record }]);
  });

  it("is nothing where another tenant was claimed", () => {
    expect(contract.answer(arriving({ tenant: "beta" }), problem)).toEqual([]);
  });

  it("is a dead letter of the topic's tenant", () => {
    expect(contract.tenantOf?.({ topic, partition: 0, offset: 1 })).toBe("acme");
  });
});
