import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createRegistry } from "./client.ts";
import { CodecError, RegistryUnavailable } from "./port.ts";

let server: Server | undefined;

async function serve(listener: RequestListener): Promise<string> {
  const made = createServer(listener);
  server = made;
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}/apis/ccompat/v7`;
}

afterEach(async () => {
  const open = server;
  server = undefined;
  if (open === undefined) return;
  open.closeAllConnections();
  await new Promise((resolve) => open.close(resolve));
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

  it("takes a schema that is no Avro for none", async () => {
    const url = await serve(answer(200, { schema: '{"type": "nonsense"}' }));
    expect(await createRegistry({ url }).schema(7)).toBeNull();
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
