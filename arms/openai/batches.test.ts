import { expect, it } from "vitest";
import { armSchema } from "../../config/schema.ts";
import { createOpenAiBatches } from "./batches.ts";

const batch = {
  id: "b",
  created_at: 2,
  status: "in_progress",
  input_file_id: "f",
  metadata: { precedent_arm: "large" },
};

/** Asks for all there is, and gives what was sent. */
async function sentTo(baseUrl: string): Promise<{ asked: string[]; headers: Headers; endpoints: unknown[] }> {
  const config = armSchema.parse({ name: "large", type: "openai", model: "m", baseUrl, apiKey: "secret" });
  if (config.type !== "openai") throw new Error("unreachable");
  const asked: string[] = [];
  const endpoints: unknown[] = [];
  let headers = new Headers();
  const batches = createOpenAiBatches(config, async (input, init) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    // The client looks once whether fetch takes files.
    if (url.protocol === "data:") return fetch(request);
    asked.push(`${request.method} ${url.pathname}${url.search}`);
    headers = request.headers;
    const isList = request.method === "GET" && url.pathname.endsWith("/batches");
    const body = request.method === "POST" ? await request.text() : "";
    if (body !== "") endpoints.push(/"(?:url|endpoint)":"([^"]*)"/.exec(body)?.[1]);
    const isFile = url.pathname.endsWith("/files");
    return Response.json(isList ? { data: [batch], has_more: false } : isFile ? { id: "f" } : batch);
  });
  expect(await batches.list(0)).toMatchObject([{ id: "b" }]);
  await batches.create(await batches.upload([{ id: "1", body: "{}" }]));
  await batches.look("b");
  return { asked, headers, endpoints };
}

it("asks for batches below the base", async () => {
  const { asked, headers, endpoints } = await sentTo("http://127.0.0.1:1/v1");
  expect(asked).toEqual(["GET /v1/batches?limit=100", "POST /v1/files", "POST /v1/batches", "GET /v1/batches/b"]);
  expect([headers.get("authorization"), headers.get("api-key")]).toEqual(["Bearer secret", null]);
  expect(endpoints).toEqual(["/v1/chat/completions", "/v1/chat/completions"]);
});

it.each([
  ["/openai/deployments/gpt", "/openai", "/chat/completions"],
  ["/openai/deployments/gpt/", "/openai", "/chat/completions"],
  ["/openai/v1", "/openai/v1", "/v1/chat/completions"],
])("asks Azure at %s with its version, its key, and the resource's address", async (path, base, endpoint) => {
  const { asked, headers, endpoints } = await sentTo(`http://127.0.0.1:1${path}?api-version=2025-04-01`);
  const version = "api-version=2025-04-01";
  expect(asked.map((one) => one.replace("limit=100&", "").replace("&limit=100", ""))).toEqual([
    `GET ${base}/batches?${version}`,
    `POST ${base}/files?${version}`,
    `POST ${base}/batches?${version}`,
    `GET ${base}/batches/b?${version}`,
  ]);
  expect([headers.get("authorization"), headers.get("api-key")]).toEqual([null, "secret"]);
  expect(endpoints).toEqual([endpoint, endpoint]);
});
