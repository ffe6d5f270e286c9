import { expect, test } from "vitest";
import type { Document } from "../schemas/types.ts";
import { pipeline, type Retry } from "./pipeline.ts";
import { finish, ok, type Emit, type Received, type Step, type StepContext } from "./step.ts";
import { silent } from "./doubles.testing.ts";

interface Dependencies {
  greeting: string;
}
type In = Received<Document>;
interface Reported {
  emits: Emit<"documents">[];
}
const record: Document = { tenant: "t", id: "r1", text: "you", title: null, expiresAt: null, createdAt: 1 };
const received: In = { record, position: { topic: "in", partition: 0, offset: 0 }, timestamp: 1, receivedAt: 2 };
const emit = (text: string): Emit<"documents"> => ({ output: "documents", key: "r1", record: { ...record, text } });
const context = (): StepContext => ({ signal: new AbortController().signal, log: silent, deadline: 9, timings: [] });
const once: Retry = async (attempt) => {
  const outcome = await attempt();
  if (outcome.kind === "elsewhere") throw new Error("nothing is done elsewhere here");
  return outcome;
};

const greet = pipeline()
  .declare({ name: "greet", sources: ["documents"], tables: [], outputs: ["documents", "dead-letters"] }, () => ({
    deadline: () => 9,
    id: () => "r1",
    answer: () => [],
  }))
  .step(
    "stop",
    (): Step<In, unknown, "documents"> => (input) =>
      input.record.text === "nobody" ? finish(emit("nobody here")) : ok(input),
  )
  .step(
    "greet",
    ({ greeting }: Dependencies): Step<In, { text: string }> =>
      (input) =>
        ok({ ...input, text: `${greeting} ${input.record.text}` }),
  )
  // Nothing but what is emitted, so that the tests show it whole.
  .step(
    "say",
    (): Step<{ text: string }, Reported> =>
      <T extends { text: string }>({ text }: T) =>
        ok({ emits: [emit(text)] } as T & Reported),
  )
  .end();

test("a pipeline is a value that tells what it does without running", () => {
  expect(greet).toMatchObject({
    name: "greet",
    sources: ["documents"],
    operators: ["stop", "greet", "say"],
    outputs: ["documents", "dead-letters"],
  });
});

test("operators run in order, each on what the one before found; every one is timed and may be repeated", async () => {
  const bound = greet.bind({ greeting: "hello" });
  const [seen, tries, its]: [string[], string[], StepContext] = [[], [], context()];
  const outcome = await bound.run(
    received,
    its,
    async (attempt) => {
      tries.push("try");
      return once(attempt);
    },
    (operator) => seen.push(operator),
  );
  expect(outcome).toEqual({ kind: "ok", value: { emits: [emit("hello you")] } });
  expect([seen, tries.length]).toEqual([["stop", "greet", "say"], 3]);
  expect(its.timings.map(({ operator }) => operator)).toEqual(seen);
});

test("an outcome other than ok ends it: the operators behind it do not run", async () => {
  const seen: string[] = [];
  const nobody = { ...received, record: { ...record, text: "nobody" } };
  const outcome = await greet
    .bind({ greeting: "hello" })
    .run(nobody, context(), once, (operator) => seen.push(operator));
  expect([outcome.kind, seen]).toEqual(["finish", ["stop"]]);
});

test("two bindings of one pipeline share nothing", async () => {
  const say = async (greeting: string): Promise<unknown> =>
    greet.bind({ greeting }).run(received, context(), once, () => undefined);
  expect(await Promise.all([say("hello"), say("bye")])).toMatchObject([
    { value: { emits: [emit("hello you")] } },
    { value: { emits: [emit("bye you")] } },
  ]);
});
