import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainRequest } from "../../schemas/plain-request.ts";
import type { Request } from "../../schemas/types.ts";
import { requestHash } from "../text/canonical.ts";
import { cacheKey, digestOf, type AnsweringArm } from "./cache-key.ts";

const arm = (name: string, change: Partial<AnsweringArm> = {}): AnsweringArm => ({
  ...{ name, model: "m", template: "chat-turns/1", settings: "{}" },
  ...change,
});
const arms = [arm("a"), arm("b")];
const keyOf = (request: Request, change: Partial<Parameters<typeof cacheKey>[0]> = {}): string =>
  cacheKey({ request, domain: "acme/default", arms, documents: "", ...change });

type Avro =
  | string
  | Avro[]
  | {
      type: Avro;
      fields?: { name: string; type: Avro }[];
      items?: Avro;
      values?: Avro | string[];
      logicalType?: string;
    };

/** Every leaf of the schema of requests: where it is, and values of its type. */
function leaves(type: Avro, path: string[] = []): { path: string[]; values: fc.Arbitrary<unknown> }[] {
  if (Array.isArray(type)) {
    const inner = type.filter((one) => one !== "null").flatMap((one) => leaves(one, path));
    return type.includes("null")
      ? inner.map(({ path: at, values }) => ({ path: at, values: fc.option(values, { nil: null }) }))
      : inner;
  }
  if (typeof type === "string") {
    const values: Record<string, fc.Arbitrary<unknown>> = {
      string: fc.stringMatching(/^[a-z]{1,6}$/),
      int: fc.integer({ min: 0, max: 1_000 }),
      long: fc.integer({ min: 0, max: 1_000 }),
      double: fc.integer({ min: 0, max: 20 }).map((n) => n / 10),
      boolean: fc.boolean(),
    };
    const found = values[type];
    if (found === undefined) throw new Error(`no values for the Avro type ${type} at ${path.join(".")}: add them here`);
    return [{ path, values: found }];
  }
  if (type.fields !== undefined) return type.fields.flatMap((field) => leaves(field.type, [...path, field.name]));
  if (type.type === "string" && Array.isArray(type.values)) return [{ path, values: fc.constantFrom(...type.values) }];
  if (type.type === "map")
    return [{ path, values: fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.stringMatching(/^[a-z]{1,4}$/)) }];
  if (type.type === "array") {
    const inner = leaves(type.items!, []);
    const item = inner.every(({ path: at }) => at.length === 0)
      ? inner[0]!.values
      : fc.record(Object.fromEntries(inner.map(({ path: at, values }) => [at.join("."), values])));
    return [{ path, values: fc.array(item, { maxLength: 3 }) }];
  }
  return leaves(type.type, path);
}

const schema = JSON.parse(
  readFileSync(fileURLToPath(new URL("../../schemas/avro/request.avsc", import.meta.url)), "utf8"),
) as Avro;
const fields = leaves(schema);

/** These do not influence the answer. A new field is in the key, or it is named here. */
const withoutInfluence = [
  ...[
    "id",
    "createdAt",
    "replyPartition",
    "deltas",
    "mayAsk",
    "mayCompare",
    "batchUntil",
    "metadata",
    "allow.deadlineMs",
  ],
  // Keys of a tenant share its answers, which cost nothing then.
  "account",
  // Decide whether there is a key at all.
  ...["privacy.cache", "privacy.share", "privacy.fresh"],
  // In the sharing domain, which is in the key.
  ...["tenant", "domain"],
];

function set(request: Request, [first = "", ...rest]: string[], value: unknown): Request {
  const record = request as unknown as Record<string, unknown>;
  const inner = rest.length === 0 ? value : set(record[first] as Request, rest, value);
  return { ...record, [first]: inner } as unknown as Request;
}
const request = plainRequest("list files\n  by size", {});

/** What a model reads as another text, though it looks the same or nearly so. */
const near = [
  ...["", " ", "  ", "\t", "\n", "\r\n", "\r", "\u00a0", "\u3000", "\u202f", "\u2028", "\u200b", "\ufeff", "\0"],
  ...[
    "\u00e9",
    "e\u0301",
    "\u212b",
    "\u00c5",
    "A\u030a",
    "\ud800",
    "\udc00",
    "\ufffd",
    "\uff11",
    "1",
    "k",
    "K",
    "\u212a",
  ],
];
const text = fc.array(fc.constantFrom(...near, "a", "if"), { maxLength: 4 }).map((parts) => parts.join(""));

describe("cacheKey", () => {
  it("has every field of a request in it that is not named as having no influence", () => {
    for (const { path, values } of fields) {
      const name = path.join(".");
      fc.assert(
        fc.property(values, values, (one, other) => {
          const same = JSON.stringify(one) === JSON.stringify(other);
          const keys = [keyOf(set(request, path, one)), keyOf(set(request, path, other))];
          const equal = keys[0] === keys[1];
          // A set of arms is the same in any order.
          const sets = name === "allow.arms" && Array.isArray(one) && Array.isArray(other);
          const alike = sets && JSON.stringify([...new Set(one)].sort()) === JSON.stringify([...new Set(other)].sort());
          return equal === (same || alike || withoutInfluence.includes(name));
        }),
        { numRuns: 60 },
      );
    }
    expect(fields.length).toBeGreaterThan(20);
    expect(withoutInfluence.filter((name) => !fields.some(({ path }) => path.join(".") === name))).toEqual([]);
  });

  it("counts a field that it has never heard of", () => {
    expect(keyOf({ ...request, tools: ["search"] } as Request)).not.toBe(keyOf(request));
    const params = { ...request.params, minP: 0.1 } as Request["params"];
    expect(keyOf({ ...request, params })).not.toBe(keyOf(request));
    const allow = { ...request.allow, region: "eu" } as Request["allow"];
    expect(keyOf({ ...request, allow })).not.toBe(keyOf(request));
    const messages = [{ ...request.messages[0]!, name: "ann" }];
    expect(keyOf({ ...request, messages })).not.toBe(keyOf(request));
  });

  it("tells domains, documents, link policies and everything of the arms apart", () => {
    const changed = (change: Partial<AnsweringArm>): string => keyOf(request, { arms: [arm("a", change), arm("b")] });
    const keys = [
      keyOf(request),
      keyOf(request, { domain: "other/default" }),
      keyOf(request, { domain: "acme/legal" }),
      keyOf(request, { documents: digestOf(["a text"]) }),
      keyOf(request, { documents: digestOf(["a", " text"]) }),
      keyOf({ ...request, metadata: { "link-policy": "naive" } }),
      changed({ model: "m2" }),
      changed({ settings: '{"system":"be brief"}' }),
      changed({ template: "chat-turns/2" }),
      keyOf(request, { arms: [arm("a")] }),
      keyOf({ ...request, allow: { ...request.allow, arms: ["a"] } }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("tells versions of the router apart that variants of experiments name", () => {
    const keys = [{}, { routerVersion: 0 }, { routerVersion: 1 }].map((change) =>
      keyOf(plainRequest("q", { id: "r", createdAt: 0 }), change),
    );
    expect(new Set(keys).size).toBe(3);
  });

  it("does not see an arm that the request does not allow, nor the order of anything", () => {
    const only = { ...request, allow: { ...request.allow, arms: ["a"] } };
    expect(keyOf(only, { arms: [arm("b", { model: "m2" }), arm("a")] })).toBe(keyOf(only));
    expect(keyOf(request, { arms: [...arms].reverse() })).toBe(keyOf(request));
  });

  it("merges no two texts that differ in a single code unit", () => {
    const asked = (...contents: string[]): Request => ({
      ...request,
      messages: contents.map((content) => ({ role: "user", content })),
    });
    fc.assert(
      fc.property(fc.tuple(text, text), ([one, other]) => {
        expect(keyOf(asked(one)) === keyOf(asked(other))).toBe(one === other);
        expect(requestHash(asked(one)) === requestHash(asked(other))).toBe(one === other);
      }),
    );
    const neighbours = near.flatMap((more) => [`${more}def f():`, `def f():${more}`, `def${more}f():`]);
    const turns = [asked("a", "b"), asked("b", "a"), asked("a\nb"), asked("a", "b", ""), asked("", "a", "b")];
    const all = [...neighbours.map((one) => asked(one)), ...turns];
    for (const hash of [keyOf, requestHash])
      expect(new Set(all.map((one) => hash(one))).size).toBe(all.length - near.length * 3 + new Set(neighbours).size);
  });
});
