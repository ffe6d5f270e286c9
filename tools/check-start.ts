// npm run check:start: a fresh clone of the last commit, set up, where the commands of
// docs/getting-started.md run to the letter against a local endpoint; prints how long they took.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { followGettingStarted } from "./getting-started.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const clone = mkdtempSync(join(tmpdir(), "precedent-fresh-"));

function run(command: string, given: string[], cwd = clone): string {
  const { status, stdout } = spawnSync(command, given, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (status !== 0) throw new Error(`${command} ${given.join(" ")} ended with code ${status ?? "none"}`);
  return stdout.trim();
}

const endpoint = createServer((request, response) => {
  request.resume().on("end", () => {
    const choices = [{ index: 0, message: { role: "assistant", content: "ls -a" }, finish_reason: "stop" }];
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: "x", object: "chat.completion", created: 1, model: "m", choices, usage }));
  });
});

try {
  await new Promise<void>((listening) => endpoint.listen(0, "127.0.0.1", listening));
  const { port } = endpoint.address() as AddressInfo;
  run("git", ["clone", "--quiet", root, clone], root);
  console.log(`commit ${run("git", ["rev-parse", "--short", "HEAD"])}`);
  const began = performance.now();
  run("npm", ["run", "setup"]);
  console.log(`set-up: ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  const { readyMs, firstAnswerMs } = await followGettingStarted({
    folder: clone,
    environment: { ...process.env, OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: "a-key" },
    onStep: console.log,
  });
  console.log(
    `up to ready: ${(readyMs / 1_000).toFixed(1)} s; up to the first answer: ${(firstAnswerMs / 1_000).toFixed(1)} s`,
  );
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  spawnSync("npx", ["precedent", "stack", "stop"], { cwd: clone, stdio: "inherit" });
  endpoint.close();
  rmSync(clone, { recursive: true, force: true });
}
