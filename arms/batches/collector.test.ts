// The collector against a provider in memory, on a clock that a test sets.
import { APIError } from "openai";
import pino from "pino";
import { afterEach, expect, it, vi } from "vitest";
import { createCollector, type BatchOutcome } from "./collector.ts";
import type { LineResult, Provider, ProviderBatch } from "./port.ts";

type Collector = ReturnType<typeof createCollector>;

const hours = 3_600_000;
const open: Collector[] = [];
afterEach(() => {
  for (const collector of open.splice(0)) collector.close();
});

function begin({ log = pino({ level: "silent" }) } = {}) {
  let ahead = 0;
  const clock = (): number => Date.now() + ahead;
  const batches = new Map<string, ProviderBatch>();
  const results: LineResult[] = [];
  const provider = {
    list: vi.fn<Provider["list"]>(() => Promise.resolve([...batches.values()])),
    lines: vi.fn<Provider["lines"]>(async function* () {}),
    upload: vi.fn<Provider["upload"]>(() => Promise.resolve("file")),
    create: vi.fn<Provider["create"]>(() => {
      const id = `batch-${batches.size + 1}`;
      const batch = { id, createdAt: clock(), isOpen: true, ended: "in_progress" };
      batches.set(id, batch);
      return Promise.resolve(batch);
    }),
    look: vi.fn<Provider["look"]>((id) => Promise.resolve(batches.get(id)!)),
    cancel: vi.fn<Provider["cancel"]>(() => Promise.resolve()),
    async *results() {
      await Promise.resolve();
      yield* results;
    },
  } satisfies Provider;
  const collector = createCollector({ provider, clock, log, collectMs: 200, pollMs: 5, timeoutMs: 20 * hours });
  open.push(collector);
  return {
    ...{ provider, results, clock },
    pass: (ms: number) => void (ahead += ms),
    end(status: string) {
      for (const [id, batch] of batches) batches.set(id, { ...batch, isOpen: false, ended: status });
    },
    submit: (id: string, left: number, signal = new AbortController().signal, withdrawn = () => true) =>
      collector.submit({ id, body: "{}", deadline: clock() + left }, signal, withdrawn),
  };
}
const created = ({ create }: Pick<ReturnType<typeof begin>["provider"], "create">) =>
  vi.waitFor(() => expect(create).toHaveBeenCalled(), 10_000);
const resultOf = (id: string): LineResult => ({ id, response: { status: 200, body: id, text: "" }, error: "" });
const tooLate = { reason: expect.stringContaining("too little time") as string };

it("gives a line up whose time is over, and goes on with the lines beside it", async () => {
  const { provider, results, pass, end, submit } = begin();
  const [short, long] = [submit("short", 2 * hours), submit("long", 24 * hours)];
  await created(provider);
  pass(1.5 * hours);
  expect(await short).toEqual(tooLate);
  results.push(resultOf("long"));
  end("completed");
  expect(await long).toEqual(resultOf("long"));
  expect(provider.cancel).not.toHaveBeenCalled();
});

it("cancels a batch all of whose lines are late or taken back; what it has answered counts", async () => {
  const { provider, results, pass, end, submit } = begin();
  const back = new AbortController();
  const [taken, one, two] = [
    submit("taken", 24 * hours, back.signal),
    submit("one", 2 * hours),
    submit("two", 2 * hours),
  ];
  await created(provider);
  back.abort();
  expect(await taken).toBeNull();
  pass(1.5 * hours);
  await vi.waitFor(() => expect(provider.cancel).toHaveBeenCalled(), 10_000);
  results.push(resultOf("one"));
  end("cancelled");
  expect(await Promise.all([one, two])).toEqual([resultOf("one"), { reason: "the provider's batch ended: cancelled" }]);
});

it("counts a line that is asked twice and taken back twice as one", async () => {
  const { provider, results, end, submit } = begin();
  const back = new AbortController();
  const twice = [submit("twice", 24 * hours, back.signal), submit("twice", 24 * hours, back.signal)];
  const kept = submit("kept", 24 * hours);
  await created(provider);
  await vi.waitFor(() => expect(provider.look).toHaveBeenCalled(), 10_000);
  back.abort();
  expect(await Promise.all(twice)).toEqual([null, null]);
  const looks = provider.look.mock.calls.length;
  await vi.waitFor(() => expect(provider.look.mock.calls.length).toBeGreaterThan(looks + 1), 10_000);
  expect(provider.cancel).not.toHaveBeenCalled();
  results.push(resultOf("kept"));
  end("completed");
  expect(await kept).toEqual(resultOf("kept"));
});

it("creates no batch of lines that were all taken back while they were uploaded", async () => {
  const { provider, submit, results, end } = begin();
  const back = new AbortController();
  provider.upload.mockImplementationOnce(() => {
    back.abort();
    return Promise.resolve("file");
  });
  expect(await submit("taken", 24 * hours, back.signal)).toBeNull();
  const next = submit("next", 24 * hours);
  await created(provider);
  results.push(resultOf("next"));
  end("completed");
  await next;
  expect(provider.create).toHaveBeenCalledTimes(1);
  expect(provider.upload.mock.calls.map(([lines]) => lines.map(({ id }) => id))).toEqual([["taken"], ["next"]]);
});

it("leaves a line to another arm while the provider is away, in time, and logs none of its words", async () => {
  const logged: string[] = [];
  const { provider, pass, submit } = begin({ log: pino({}, { write: (line: string) => void logged.push(line) }) });
  const line: Promise<BatchOutcome | null> = submit("line", 24 * hours);
  await created(provider);
  const body = { message: "the secret prompt, sk-secret" };
  provider.look.mockImplementation(() => Promise.reject(APIError.generate(503, body, undefined, new Headers())));
  pass(23.5 * hours);
  expect(await line).toEqual({ reason: "the provider's batches could not be reached" });
  expect(logged.join("")).toContain("status 503");
  expect(logged.join("")).not.toContain("secret");
});
