// The codec on the real registry: ids, evolution, and what the registry refuses.
import avro from "avsc";
import { beforeAll, describe, expect, it } from "vitest";
import { createRegistry, type Registry } from "../../connections/registry/client.ts";
import { createCodec, readSchema, subjectOf } from "../../connections/registry/codec.ts";
import { CodecError, RegistryUnavailable } from "../../connections/registry/port.ts";
import { exampleReplay, wire } from "../../connections/registry/example-replay.testing.ts";
import type { Request } from "../../schemas/types.ts";
import { testStack, uniquePrefix } from "../support/stack.ts";

interface RecordSchema {
  type: "record";
  name: string;
  namespace: string;
  fields: { name: string; type: unknown; default?: unknown }[];
}
const schemaOf = (name: string): RecordSchema => readSchema(name) as unknown as RecordSchema;
const typeOf = (schema: object) => avro.Type.forSchema(schema as Parameters<typeof avro.Type.forSchema>[0]);

const prefix = uniquePrefix();
let registry: Registry;
beforeAll(() => {
  registry = createRegistry({ url: testStack().registryUrl });
});

describe("codec on the registry", () => {
  it("registers every subject, finds them again, and reads what another process wrote", async () => {
    const writer = createCodec({ prefix, registry });
    await writer.register({ arms: ["small", "large"] });
    const reader = createCodec({ prefix, registry: createRegistry({ url: testStack().registryUrl }) });
    await reader.register({ arms: ["small", "large"] });
    const bytes = writer.encode("example-replays", exampleReplay);
    expect(reader.encode("example-replays", exampleReplay)).toEqual(bytes);
    expect(await reader.decode("example-replays", bytes)).toEqual({ ok: true, value: exampleReplay });
  });

  it("sets BACKWARD on every subject", async () => {
    await createCodec({ prefix, registry }).register({ arms: ["small"] });
    for (const topic of ["requests", "work.small", "dead-letters"]) {
      const response = await fetch(`${testStack().registryUrl}/config/${subjectOf(prefix, topic)}`);
      expect(await response.json()).toMatchObject({ compatibilityLevel: "BACKWARD" });
    }
  });

  it("sets it where a process was killed between registering and setting it", async () => {
    const killed = `${prefix}killed.`;
    const subject = subjectOf(killed, "requests");
    const registered = await fetch(`${testStack().registryUrl}/subjects/${subject}/versions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ schema: JSON.stringify(schemaOf("request")) }),
    });
    expect(registered.status).toBe(200);
    const level = async (): Promise<unknown> => (await fetch(`${testStack().registryUrl}/config/${subject}`)).json();
    expect(await level()).toMatchObject({ compatibilityLevel: "NONE" });
    await createCodec({ prefix: killed, registry }).register({ arms: [] });
    expect(await level()).toMatchObject({ compatibilityLevel: "BACKWARD" });
  });

  it("reads an older writer that lacks a field with a default", async () => {
    const codec = createCodec({ prefix, registry });
    await codec.register({ arms: [] });
    const current = schemaOf("request");
    const older = { ...current, fields: current.fields.filter(({ name }) => name !== "mayAsk" && name !== "privacy") };
    const id = await registry.register(subjectOf(`${prefix}older.`, "requests"), older);
    const payload = typeOf(older).toBuffer({ messages: [{ role: "user", content: "hello" }] });
    const decoded = await codec.decode("requests", wire(id, payload));
    expect(decoded).toMatchObject({ ok: true });
    const value = decoded.ok ? decoded.value : ({} as Partial<Request>);
    expect(value.messages).toEqual([{ role: "user", content: "hello" }]);
    expect(typeof value.mayAsk).toBe("boolean");
    expect(value.privacy).toHaveProperty("cache");
  });

  it("accepts a new field with a default and refuses one without", async () => {
    const current = schemaOf("example-replay");
    const subject = subjectOf(`${prefix}evolving.`, "example-replays");
    await registry.register(subject, current);
    const grown = { ...current, fields: [...current.fields, { name: "colour", type: "string", default: "none" }] };
    expect(await registry.register(subject, grown)).toBeGreaterThan(0);
    const demanding = { ...current, fields: [...current.fields, { name: "colour2", type: "string" }] };
    const refused = registry.register(subject, demanding);
    await expect(refused).rejects.toBeInstanceOf(CodecError);
    await expect(refused).rejects.toThrow(/refuses the schema of .*example-replays-value/);
  });

  it("tells an unknown id from a registry that is away", async () => {
    const codec = createCodec({ prefix, registry });
    expect(await codec.decode("requests", wire(2_000_000_000, Buffer.alloc(1)))).toMatchObject({
      ok: false,
      code: "unknown_schema",
    });
    const away = createCodec({ prefix, registry: createRegistry({ url: "http://127.0.0.1:1", retries: 0 }) });
    await expect(away.decode("requests", wire(1, Buffer.alloc(1)))).rejects.toBeInstanceOf(RegistryUnavailable);
  });
});
