// Reports of an engine: polled every second, expired after 5 s, bounded in size and time.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { EngineLoad } from "./engine-metrics.ts";
import { readEngineLoad, watchEngine } from "./engine-poll.ts";

const load = (waiting: number): EngineLoad => ({ running: 1, waiting, cacheUsage: null });

describe("a watched engine", () => {
  afterEach(() => void vi.useRealTimers());

  function watched(read: () => Promise<EngineLoad>) {
    vi.useFakeTimers();
    const problems: unknown[] = [];
    const asked = vi.fn(read);
    const watch = watchEngine(asked, (problem) => problems.push(problem), Date.now);
    return { ...watch, asked, problems, after: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
  }

  it("is asked every second until it is no longer watched", async () => {
    let waiting = 0;
    const { now, stop, asked, after } = watched(() => Promise.resolve(load(waiting++)));
    await after(0);
    expect(now()).toMatchObject({ load: load(0), version: 1 });
    await after(3_000);
    expect(now()).toMatchObject({ load: load(3), version: 4 });
    stop();
    await after(60_000);
    expect(asked).toHaveBeenCalledTimes(4);
    expect(now()).toBeUndefined();
  });

  it("is unknown 5 s after its last report, asked less often, and known again", async () => {
    let fails = false;
    const { now, stop, asked, problems, after } = watched(() =>
      fails ? Promise.reject(new Error("status 500")) : Promise.resolve(load(2)),
    );
    await after(0);
    fails = true;
    await after(4_999);
    expect(now()).toMatchObject({ load: load(2) });
    await after(1);
    expect(now()).toBeUndefined();
    await after(95_000);
    expect(asked.mock.calls.length).toBeLessThanOrEqual(24);
    fails = false;
    await after(5_000);
    expect(now()).toMatchObject({ load: load(2) });
    expect(problems).toEqual([new Error("status 500"), undefined]);
    stop();
  });

  it("that hangs is asked once at a time, and its late answer counts from the question", async () => {
    const answers: ((load: EngineLoad) => void)[] = [];
    const { now, stop, asked, after } = watched(() => new Promise((resolve) => answers.push(resolve)));
    await after(30_000);
    expect(asked).toHaveBeenCalledTimes(1);
    answers[0]?.(load(9));
    await after(0);
    expect(now()).toBeUndefined();
    stop();
  });
});

describe("what an engine sends", () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  async function read(listener: RequestListener): Promise<EngineLoad> {
    server = createServer(listener);
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return readEngineLoad({ url: `http://127.0.0.1:${port}/metrics`, headers: { authorization: "Bearer k" } });
  }
  const gauge = "vllm:num_requests_waiting 3\n";

  it("is read, with the key", async () => {
    let key: string | undefined;
    const found = read(({ headers }, response) => {
      key = headers.authorization;
      response.end(gauge);
    });
    expect(await found).toEqual({ running: null, waiting: 3, cacheUsage: null });
    expect(key).toBe("Bearer k");
  });

  it.each<[string, RequestListener, RegExp]>([
    ["an error", (_request, response) => void response.writeHead(404).end(gauge), /status 404/],
    ["a redirect", (_request, response) => void response.writeHead(302, { location: "/" }).end(gauge), /status 302/],
    ["another text", (_request, response) => void response.end("up 1\n"), /no queue of vLLM/],
    [
      "a cut text",
      (_request, response) =>
        response.writeHead(200, { "content-length": "99" }).write(gauge, () => response.destroy()),
      /./,
    ],
    [
      "an endless text",
      (_request, response) => {
        const more = (): void => {
          if (response.write(gauge.repeat(5_000))) setImmediate(more);
          else response.once("drain", more);
        };
        more();
      },
      /more than 4194304 bytes/,
    ],
    [
      "an inflated text",
      (_request, response) =>
        void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(50_000_000, 10))),
      /more than 4194304 bytes/,
    ],
  ])("is refused: %s", async (_what, listener, why) => {
    await expect(read(listener)).rejects.toThrow(why);
  });
});
