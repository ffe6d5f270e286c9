// The gateways beside ours: LiteLLM's proxy (PyPI) and Portkey's gateway (npm), pinned, installed
// once into the cache folder. Each runs as its documentation starts it, one process, on a port of
// its own.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import getPort from "get-port";
import { cacheFolder } from "../../config/assets.ts";
import { run } from "../../connections/python/python.ts";
import { placeFolder } from "../../tools/setup/packages.ts";
import type { BenchContext } from "../benchmark.ts";
import { startChild, type Child } from "../loop/child.ts";
import type { Target } from "./client.ts";
import { modelName } from "./model.ts";

export const peerVersions = { litellm: "1.106.0", portkey: "1.15.2" } as const;
export type PeerName = keyof typeof peerVersions;

interface Peer {
  child: Child;
  target: Target;
}

/** upstream: base URL of the model, which counts its calls as this peer's. */
export function startPeer(name: PeerName, context: BenchContext, upstream: string): Promise<Peer> {
  return name === "litellm" ? startLiteLlm(context, upstream) : startPortkey(context, upstream);
}

const placeOf = (name: PeerName): string => join(cacheFolder(), "peers", `${name}-${peerVersions[name]}`);

async function startLiteLlm({ folder, note, signal }: BenchContext, upstream: string): Promise<Peer> {
  const python = await installLiteLlm(note);
  const config = join(folder, "litellm.yaml");
  const litellm_params = { model: `openai/${modelName}`, api_base: upstream, api_key: "none" };
  await writeFile(config, JSON.stringify({ model_list: [{ model_name: modelName, litellm_params }] })); // JSON is YAML
  const port = await getPort();
  // It does not start without one.
  const key = `sk-${randomBytes(16).toString("hex")}`;
  const child = await startChild({
    command: python,
    arguments: [
      ...["-c", "from litellm import run_server; run_server()"],
      ...["--config", config, "--host", "127.0.0.1", "--port", String(port), "--telemetry", "False"],
    ],
    // Prices from the package: nothing outside of this machine is asked.
    environment: {
      LITELLM_MASTER_KEY: key,
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
      LITELLM_LOG: "ERROR",
      NO_PROXY: "127.0.0.1",
    },
    answersAt: `http://127.0.0.1:${port}/health/liveliness`,
    log: join(folder, "litellm.log"),
    signal,
  });
  const headers = { authorization: `Bearer ${key}` };
  return { child, target: { baseUrl: `http://127.0.0.1:${port}/v1`, model: modelName, headers } };
}

async function installLiteLlm(note: (line: string) => void): Promise<string> {
  const place = placeOf("litellm");
  const python = join(place, "bin", "python");
  // Written last: an environment that was broken off is made anew.
  const whole = join(place, "whole");
  if (existsSync(whole)) return python;
  const wanted = `litellm[proxy]==${peerVersions.litellm}`;
  note(`making a Python environment with ${wanted}`);
  await rm(place, { recursive: true, force: true });
  await run("python3", ["-m", "venv", place]);
  await run(python, ["-m", "pip", "install", "--quiet", "--no-cache-dir", wanted]);
  await writeFile(whole, "");
  return python;
}

async function startPortkey({ folder, note, signal }: BenchContext, upstream: string): Promise<Peer> {
  const place = placeOf("portkey");
  if (!existsSync(place)) {
    const wanted = `@portkey-ai/gateway@${peerVersions.portkey}`;
    note(`installing ${wanted}`);
    await placeFolder(place, async (beside) => {
      await run("npm", ["install", "--prefix", beside, "--ignore-scripts", "--no-audit", "--no-fund", wanted]);
    });
  }
  const port = await getPort();
  const entry = join(place, "node_modules", "@portkey-ai", "gateway", "build", "start-server.js");
  const child = await startChild({
    arguments: [entry, `--port=${port}`, "--headless"],
    environment: { NODE_ENV: "production" },
    answersAt: `http://127.0.0.1:${port}/`,
    log: join(folder, "portkey.log"),
    signal,
  });
  const headers = {
    authorization: "Bearer none",
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": upstream,
  };
  return { child, target: { baseUrl: `http://127.0.0.1:${port}/v1`, model: modelName, headers } };
}
