import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createRegistry, subjectsOf } from "./client.ts";
import { CodecError, RegistryUnavailable } from "./port.ts";

const servers: Server[] = [];

async function serve(listener: RequestListener): Promise<string> {
  const made = createServer(listener);
  servers.push(made);
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}/apis/ccompat/v7`;
}

afterEach(async () => {
  for (const open of servers.splice(0)) {
    open.closeAllConnections();
    await new Promise((resolve) => open.close(resolve));
  }
});

const answer =
  (status: number, body: object): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/vnd.schemaregistry.v1+json" }).end(JSON.stringify(body));
  };

describe("registry client", () => {
  it("finds a schema by id below the path of the API", async () => {
    const asked: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      asked.push(request.url);
      answer(200, { schema: JSON.stringify({ type: "record", name: "R", fields: [] }) })(request, response);
    });
    expect(await createRegistry({ url }).schema(7)).toMatchObject({ type: "record", name: "R" });
    expect(asked).toEqual(["/apis/ccompat/v7/schemas/ids/7"]);
  });

  it("takes 404 for an unknown id", async () => {
    const url = await serve(answer(404, { error_code: 40403, message: "Schema not found" }));
    expect(await createRegistry({ url }).schema(7)).toBeNull();
  });

  it("lists subjects, or says why it can't", async () => {
    expect(await subjectsOf({ url: await serve(answer(200, ["a-value", "b-value"])) })).toEqual(
      new Set(["a-value", "b-value"]),
    );
    await expect(subjectsOf({ url: await serve(answer(401, {})) })).rejects.toThrow(/refuses our credentials/);
    await expect(subjectsOf({ url: await serve(answer(500, { message: "no disk" })) })).rejects.toThrow("no disk");
    await expect(subjectsOf({ url: await serve(answer(404, { message: "no resource" })) })).rejects.toThrow(
      "no resource; see that its address includes the path",
    );
    // A page of the server itself, where the path is missing.
    for (const status of [200, 404])
      await expect(
        subjectsOf({ url: await serve((_request, response) => response.writeHead(status).end("<html>")) }),
      ).rejects.toThrow(`answers ${status} without a message: see that its address includes the path`);
  });

  it("takes a schema that is no Avro for none", async () => {
    const url = await serve(answer(200, { schema: '{"type": "nonsense"}' }));
    expect(await createRegistry({ url }).schema(7)).toBeNull();
  });

  it("reads a schema with those that it refers to, and asks once for what several wait for", async () => {
    const asked: (string | undefined)[] = [];
    const inner = { type: "record", name: "a.Inner", fields: [{ name: "n", type: "int" }] };
    const outer = { type: "record", name: "a.Outer", fields: [{ name: "inner", type: "a.Inner" }] };
    const references = [{ name: "a.Inner", subject: "in/ner", version: 2 }];
    const url = await serve((request, response) => {
      asked.push(request.url?.slice("/apis/ccompat/v7".length));
      const isOuter = request.url?.endsWith("/ids/7") === true;
      answer(200, isOuter ? { schema: JSON.stringify(outer), references } : { schema: JSON.stringify(inner) })(
        request,
        response,
      );
    });
    const registry = createRegistry({ url });
    const found = await Promise.all([registry.schema(7), registry.schema(7)]);
    expect(found[0]).toEqual({ ...outer, fields: [{ name: "inner", type: inner }] });
    expect(found[1]).toBe(found[0]);
    expect(asked).toEqual(["/schemas/ids/7", "/subjects/in%2Fner/versions/2"]);
  });

  it("takes an answer without end for no schema, and does not read it", async () => {
    /** MiB. */
    let sent = 0;
    const url = await serve((_request, response) => {
      const send = (): void => {
        while (sent < 512) {
          sent++;
          if (!response.write(Buffer.alloc(1_048_576, " "))) return;
        }
      };
      response.on("drain", send);
      send();
    });
    expect(await createRegistry({ url, timeoutMs: 60_000 }).schema(7)).toBeNull();
    expect(sent).toBeLessThan(64);
  });

  it("takes one that is cut off, or comes too slowly, for a registry that is away", async () => {
    const cut = await serve((_request, response) => {
      response.writeHead(200, { "content-length": 100 }).write("{");
      setTimeout(() => response.destroy(), 20);
    });
    await expect(createRegistry({ url: cut, retries: 1 }).schema(7)).rejects.toThrow(/can't be reached/);
    const slow = await serve((_request, response) => {
      const timer = setInterval(() => response.write(" "), 20);
      response.once("close", () => clearInterval(timer));
    });
    await expect(createRegistry({ url: slow, retries: 0, timeoutMs: 100 }).schema(7)).rejects.toThrow(
      /can't be reached/,
    );
  });

  it("sets BACKWARD after it has registered, and repeats what fails", async () => {
    const asked: string[] = [];
    const url = await serve((request, response) => {
      const { method = "", url: path = "" } = request;
      asked.push(`${method} ${path.slice("/apis/ccompat/v7".length)}`);
      if (asked.length === 1) answer(503, { message: "not now" })(request, response);
      else if (method === "GET") answer(404, { message: "no level" })(request, response);
      else answer(200, method === "POST" ? { id: 5 } : { compatibility: "BACKWARD" })(request, response);
    });
    expect(await createRegistry({ url }).register("a b", { type: "record", name: "R", fields: [] })).toBe(5);
    expect(asked).toEqual([
      ...["GET /config/a%20b", "GET /config/a%20b"],
      ...["POST /subjects/a%20b/versions", "PUT /config/a%20b"],
    ]);
  });

  it("refuses a level that somebody chose, and says what to do", async () => {
    const url = await serve(answer(200, { compatibilityLevel: "FORWARD" }));
    await expect(createRegistry({ url }).register("s", { type: "record", name: "R", fields: [] })).rejects.toThrow(
      /schema of s: its compatibility is FORWARD.*set it to BACKWARD/,
    );
  });

  it.each([
    ["a failing registry", 500],
    ["a throttling registry", 429],
  ])("calls %s unavailable", async (_what, status) => {
    const url = await serve(answer(status, { message: "not now" }));
    await expect(createRegistry({ url, retries: 0 }).schema(7)).rejects.toBeInstanceOf(RegistryUnavailable);
  });

  it("calls a refused connection and a hanging registry unavailable", async () => {
    const hanging = await serve(() => undefined);
    await expect(createRegistry({ url: hanging, retries: 0, timeoutMs: 50 }).schema(7)).rejects.toThrow(
      /can't be reached/,
    );
    await expect(
      createRegistry({ url: "http://127.0.0.1:1", retries: 0 }).register("s", {
        type: "record",
        name: "a.R",
        fields: [],
      }),
    ).rejects.toBeInstanceOf(RegistryUnavailable);
  });

  it("names the subject whose schema is refused", async () => {
    const url = await serve((request, response) => {
      if (request.method === "GET") answer(200, { compatibilityLevel: "BACKWARD" })(request, response);
      else answer(409, { error_code: 409, message: "incompatible with an earlier schema" })(request, response);
    });
    const registering = createRegistry({ url, retries: 0 }).register("requests-value", {
      type: "record",
      name: "a.R",
      fields: [],
    });
    await expect(registering).rejects.toThrow(CodecError);
    await expect(registering).rejects.toThrow(/requests-value.*incompatible/);
  });

  it("says when the credentials are refused", async () => {
    const url = await serve(answer(401, { message: "no" }));
    await expect(createRegistry({ url, username: "u", password: "p" }).schema(7)).rejects.toThrow(
      /refuses our credentials/,
    );
  });
});
