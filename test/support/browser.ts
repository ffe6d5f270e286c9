// A headless Chromium: the one on PATH, else that of the npm package @sparticuz/chromium, unpacked
// once into the cache. Where neither can run, tests skip and say why.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { chromium, type Browser } from "playwright-core";
import { cacheFolder } from "../../config/assets.ts";
import { messageOf } from "../../connections/errors.ts";

const run = promisify(execFile);
const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
// Containers allow no sandbox; what is opened is our own page.
const args = ["--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage", "--headless=shell"];

/** Close it. A text says why there is none. */
export async function startBrowser(): Promise<Browser | string> {
  try {
    const executablePath = onPath() ?? (await fromPackage());
    return await chromium.launch({ executablePath, args, headless: true });
  } catch (error) {
    return `no Chromium runs here (${messageOf(error).split("\n")[0] ?? ""}): install chromium, or run on Linux x64`;
  }
}

function onPath(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(existsSync);
}

async function fromPackage(): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error(`the package has none for ${process.platform} ${process.arch}`);
  const require = createRequire(import.meta.url);
  const ours = require("../../package.json") as { devDependencies: Record<string, string> };
  const folder = join(cacheFolder(), `chromium-${ours.devDependencies["@sparticuz/chromium"] ?? ""}`);
  await mkdir(folder, { recursive: true });
  const { default: packed } = await import("@sparticuz/chromium");
  // It unpacks to the folder of temporary files, which is everybody's and not kept.
  const { TMPDIR } = process.env;
  process.env["TMPDIR"] = folder;
  const file = await packed.executablePath().finally(() => {
    if (TMPDIR === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = TMPDIR;
  });
  const { stdout } = await run("ldd", [file]);
  const missing = stdout.split("\n").filter((line) => line.includes("not found"));
  if (missing.length > 0)
    throw new Error(`libraries are missing: ${missing.map((line) => line.trim().split(" ")[0]).join(", ")}`);
  return file;
}
