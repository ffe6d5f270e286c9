// Addresses of a host as DNS gives them: rotated, in part, or not at all.
import { pino } from "pino";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { armSchema, type OpenAiArmConfig } from "../../../config/schema.ts";
import { endpointsOf, followMembers, type Members } from "./members.ts";
import { createReplicas } from "./replicas.ts";

const config = armSchema.parse({
  ...{ name: "large", type: "openai", model: "m", baseUrl: "http://engine:8000/v1", discover: "dns" },
}) as OpenAiArmConfig;
const everyMs = 5_000;
let now = 0;
let members: Members | undefined;
beforeEach(() => {
  now = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  members?.close();
  vi.useRealTimers();
});

/** The host has these addresses until they are replaced. */
function host(...first: string[]) {
  let addresses: readonly string[] | Error = first;
  const lookup = () =>
    addresses instanceof Error
      ? Promise.reject(addresses)
      : Promise.resolve(addresses.map((address) => ({ address, family: 4 })));
  members = followMembers(config, { log: pino({ level: "silent" }), lookup, clock: () => now });
  const breaker = { share: 0.5, minimum: 5, windowMs: 1e9, openMs: 1e9, mostOpenMs: 1e9, probes: 2 };
  const replicas = createReplicas({ members, breaker, clock: () => now, random: () => 0 });
  const pass = async (ms: number): Promise<void> => {
    now += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  return {
    replicas,
    pass,
    async answer(...next: readonly string[]) {
      addresses = next;
      await pass(everyMs);
    },
    async fail() {
      addresses = new Error("SERVFAIL");
      await pass(everyMs);
    },
    names: () => replicas.states().map(({ name }) => new URL(name).hostname),
    stateOf: (address: string) => replicas.states().find(({ name }) => new URL(name).hostname === address),
    /** A call of it that is not over. */
    call(address: string) {
      const others = replicas.states().flatMap(({ name }) => (new URL(name).hostname === address ? [] : [name]));
      return replicas.acquire(() => "key", new Set(others));
    },
  };
}

it("an answer in another order, or none, changes nothing", async () => {
  const { replicas, answer, fail, names, call } = host("10.0.0.1", "10.0.0.2");
  await vi.advanceTimersByTimeAsync(0);
  call("10.0.0.1");
  const before = replicas.states();
  await answer("10.0.0.2", "10.0.0.1");
  await fail();
  await answer();
  expect(replicas.states()).toEqual(before);
  expect(names()).toEqual(["10.0.0.1", "10.0.0.2"]);
});

it("an address that returns has its breaker and its calls, for five minutes", async () => {
  const { answer, pass, names, stateOf, call } = host("10.0.0.1", "10.0.0.2");
  await vi.advanceTimersByTimeAsync(0);
  for (let i = 0; i < 2; i++) call("10.0.0.1").end("unreachable", "t", null);
  const open = call("10.0.0.2");
  // Each answer is a part of all.
  for (const part of [["10.0.0.3", "10.0.0.2"], ["10.0.0.3"], ["10.0.0.4"], ["10.0.0.1", "10.0.0.2"]]) {
    await answer(...part);
    expect(names()).toEqual(part.toSorted());
  }
  expect(stateOf("10.0.0.1")).toMatchObject({ breaker: "open", calls: 0 });
  expect(stateOf("10.0.0.2")).toMatchObject({ breaker: "closed", calls: 1, load: 1 });
  open.end("success", "t", null);
  expect(stateOf("10.0.0.2")).toMatchObject({ calls: 0 });
  await answer("10.0.0.2");
  await pass(290_000);
  await answer("10.0.0.1", "10.0.0.2");
  expect(stateOf("10.0.0.1")).toMatchObject({ breaker: "open" });
  await answer("10.0.0.2");
  await pass(310_000);
  await answer("10.0.0.1", "10.0.0.2");
  expect(stateOf("10.0.0.1")).toMatchObject({ breaker: "closed" });
});

it("a host with ever new addresses fills no memory", async () => {
  const { answer, names, call, stateOf } = host("10.0.0.1");
  await vi.advanceTimersByTimeAsync(0);
  for (let i = 0; i < 2; i++) call("10.0.0.1").end("unreachable", "t", null);
  for (let round = 1; round < 4; round++) await answer(...Array.from({ length: 256 }, (_, i) => `10.${round}.0.${i}`));
  expect(names()).toHaveLength(256);
  await answer("10.0.0.1");
  expect(stateOf("10.0.0.1")).toMatchObject({ breaker: "closed" });
});

it("a key in an address's query shows in no name, and names stay apart", () => {
  const endpoints = ["http://one/v1", "http://two/v1?key=secret", "http://two/v1?key=other"];
  const named = endpointsOf(armSchema.parse({ name: "a", type: "openai", model: "m", endpoints }) as OpenAiArmConfig);
  expect(named.map(({ baseUrl }) => baseUrl)).toEqual(endpoints);
  expect(named[0]!.name).toBe("http://one/v1");
  expect(named[1]!.name).toMatch(/^http:\/\/two\/v1\?[0-9a-f]{8}$/);
  expect(new Set(named.map(({ name }) => name)).size).toBe(3);
  expect(named.map(({ name }) => name).join()).not.toMatch(/secret|other|key/);
});
