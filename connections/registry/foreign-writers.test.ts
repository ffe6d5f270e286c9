// Records as writers of other systems have them: schemas of their own that Avro's rules resolve.
import avro, { type Schema } from "avsc";
import { describe, expect, it } from "vitest";
import { createCodec, readSchema } from "./codec.ts";
import { createMemoryRegistry } from "./memory.testing.ts";
import { plainFeedback } from "../../schemas/plain-feedback.ts";
import { plainRequest } from "../../schemas/plain-request.ts";
import { wire } from "./example-replay.testing.ts";

const named = { id: "f", requestId: "r", kind: "thumbs", createdAt: 1 } as const;

interface Field {
  name: string;
  type: unknown;
  default?: unknown;
}
interface RecordSchema {
  name: string;
  namespace?: string;
  fields: Field[];
}

/** Decodes a value of a changed copy of a schema of ours. */
async function decoded(file: "request" | "feedback", change: (schema: RecordSchema) => void, value: object) {
  const registry = createMemoryRegistry();
  const codec = createCodec({ prefix: "p.", registry });
  await codec.register({ arms: [] });
  const schema = structuredClone(readSchema(file)) as unknown as RecordSchema;
  change(schema);
  const id = await registry.register("other", schema);
  const bytes = wire(id, avro.Type.forSchema(schema as Schema).toBuffer(value));
  const topic = file === "request" ? "requests" : "feedback";
  return { result: await codec.decode(topic, bytes), tenant: () => codec.tenantOf(topic, bytes) };
}
const keep = (schema: RecordSchema, ...names: string[]) => {
  schema.fields = schema.fields.filter(({ name }) => names.includes(name));
};
const become = (schema: RecordSchema, name: string, type: unknown) => {
  schema.fields = schema.fields.map((field) => (field.name === name ? { name, type } : field));
};
const asked = { messages: [{ role: "user", content: "hi" }], tenant: "acme" };

describe("a writer's schema", () => {
  it("may have another namespace, or none: Avro compares names without it", async () => {
    for (const namespace of ["com.acme.events", ""]) {
      const change = (schema: RecordSchema) => {
        schema.namespace = namespace;
        keep(schema, "messages", "tenant", "params");
      };
      const params = { maxTokens: 7, temperature: null, topP: null, seed: null, stop: ["x"] };
      const { result, tenant } = await decoded("request", change, { ...asked, params });
      expect(result).toMatchObject({ ok: true, value: { ...asked, params } });
      expect(tenant()).toBe("acme");
    }
  });

  it("has to be named as ours", async () => {
    const { result } = await decoded("request", (schema) => (schema.name = "Question"), plainRequest("hi", {}));
    expect(result).toMatchObject({ ok: false, code: "undecodable" });
  });

  it("may allow null where ours does not: a value of the branch that ours has is read", async () => {
    const change = (schema: RecordSchema) => {
      keep(schema, "messages", "tenant");
      become(schema, "tenant", ["null", "string"]);
    };
    const { result, tenant } = await decoded("request", change, asked);
    expect(result).toMatchObject({ ok: true, value: asked });
    expect(tenant()).toBe("acme");
    const { result: none } = await decoded("request", change, { ...asked, tenant: null });
    expect(none).toMatchObject({ ok: false, code: "undecodable", reason: expect.stringContaining("null") as string });
  });

  it("may have branches that ours has not, also within lists and records", async () => {
    const content = { name: "content", type: ["null", "string", "long"] };
    const message = { type: "record", name: "Message", fields: [{ name: "role", type: "string" }, content] };
    const change = (schema: RecordSchema) => {
      keep(schema, "messages", "tenant", "domain");
      become(schema, "messages", ["null", { type: "array", items: message }]);
      become(schema, "domain", ["null", "string", "int"]);
    };
    const { result } = await decoded("request", change, { ...asked, domain: "shell" });
    expect(result).toMatchObject({ ok: true, value: { ...asked, domain: "shell" } });
    for (const wrong of [{ messages: [{ role: "user", content: 7 }] }, { domain: 7 }, { messages: null }])
      expect((await decoded("request", change, { ...asked, domain: null, ...wrong })).result).toMatchObject({
        ok: false,
        code: "undecodable",
      });
  });

  it("of which no branch fits is refused with its reason", async () => {
    const change = (schema: RecordSchema) => become(schema, "tenant", ["int", "boolean"]);
    const { result } = await decoded("feedback", change, plainFeedback({ ...named, tenant: 1 as never }));
    expect(result).toMatchObject({
      ok: false,
      code: "undecodable",
      reason: expect.stringContaining("can't be read") as string,
    });
  });

  it("may hold a value that can't be read: who asked can be, to be answered", async () => {
    const params = { maxTokens: null, temperature: null, topP: null, seed: 7, stop: [] };
    const who = { id: "r1", tenant: "acme", domain: "sales", replyPartition: 3 };
    const envelope = plainRequest("", who);
    const nullable = (schema: RecordSchema) => {
      become(schema, "tenant", ["null", "string"]);
      become(schema, "deltas", ["null", "boolean"]);
    };
    const text = (schema: RecordSchema) => become(schema, "messages", "string");
    const named = (schema: RecordSchema) => (schema.name = "ChatRequest");
    for (const [change, value, what] of [
      [() => undefined, { params: { ...params, seed: 2 ** 52 + 2 } }, "params.seed is beyond 2^52"],
      [
        () => undefined,
        { allow: { ...plainRequest("", {}).allow, deadlineMs: -(2 ** 52) - 2 } },
        "allow.deadlineMs is",
      ],
      [() => undefined, { createdAt: 2 ** 52 + 2 }, "createdAt is beyond"],
      [nullable, { deltas: null }, "null"],
      [text, { messages: "hi" }, "can't be read as request"],
      [named, {}, "can't be read as request"],
    ] as const) {
      const { result } = await decoded("request", change, { ...plainRequest("hi", who), ...value });
      expect(result).toMatchObject({ ok: false, reason: expect.stringContaining(what) as string, envelope });
    }
    const { result } = await decoded("request", nullable, { ...plainRequest("hi", who), tenant: null });
    expect(result).toMatchObject({ envelope: { id: "r1", tenant: "default", replyPartition: 3 } });
  });

  it("is not believed of who asked where the record is cut off, or names no id", async () => {
    for (const [file, value] of [
      ["request", plainRequest("hi", { params: { ...plainRequest("", {}).params, seed: 2 ** 52 + 2 } })],
      ["feedback", plainFeedback({ ...named, createdAt: 2 ** 52 + 2 })],
    ] as const) {
      const { result } = await decoded(file, () => undefined, value);
      expect(result).toMatchObject({ ok: false });
      expect(result).not.toHaveProperty("envelope");
    }
    const registry = createMemoryRegistry();
    const codec = createCodec({ prefix: "p.", registry });
    await codec.register({ arms: [] });
    const bytes = codec.encode("requests", plainRequest("hi", { id: "r1" }));
    for (const broken of [bytes.subarray(0, bytes.length - 1), Buffer.concat([bytes, Buffer.from([0])])])
      expect(await codec.decode("requests", broken)).not.toHaveProperty("envelope");
  });

  it("may widen numbers and say texts as bytes, within unions too", async () => {
    const change = (schema: RecordSchema) => {
      become(schema, "value", ["null", "int"]);
      become(schema, "comment", ["bytes", "null"]);
    };
    const { result } = await decoded("feedback", change, {
      ...plainFeedback({ ...named, value: 1 }),
      comment: Buffer.from("so"),
    });
    expect(result).toMatchObject({ ok: true, value: { value: 1, comment: "so" } });
  });
});
