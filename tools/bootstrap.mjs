// Plain Node, no packages: makes a fresh clone runnable before anything of it can be imported.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** What npm writes when an install has ended. */
const installed = join(root, "node_modules", ".package-lock.json");

/** Environment of everything we start: onnxruntime-node must not fetch CUDA from the net. */
export const environment = { ...process.env, ONNXRUNTIME_NODE_INSTALL: "skip" };

/**
 * Runs a program with our terminal; resolves with its exit code (1 if a signal ended it). A SIGTERM
 * is passed on; Ctrl-C reaches it from the terminal. onMessage: called with what it sends, where
 * options.stdio has an "ipc" channel.
 */
export function run(command, args, { onMessage, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env: environment, stdio: "inherit", ...options });
    if (onMessage !== undefined) child.on("message", onMessage);
    const passOn = () => void child.kill("SIGTERM");
    process.once("SIGTERM", passOn);
    child.once("error", reject);
    child.once("exit", (code) => {
      process.off("SIGTERM", passOn);
      resolve(code ?? 1);
    });
  });
}

/**
 * npm ci when packages are missing or older than package-lock.json says. dev: false leaves those of
 * development out where none are there yet, which is a third of the time. Throws when that fails.
 */
export async function ensurePackages({ dev = true } = {}) {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 15)) {
    throw new Error(`Node ${process.versions.node} is too old: 20.15 or later is needed`);
  }
  const missing = missingPackage(dev);
  if (missing === null) return;
  // A checkout that has them keeps them.
  const omitted = dev || existsSync(installed) ? [] : ["--omit=dev"];
  console.error(`installing packages (${missing})`);
  const npm = process.env.npm_execpath;
  const [command, args] = npm === undefined ? ["npm", []] : [process.execPath, [npm]];
  // On standard error: the standard output belongs to the caller.
  const code = await run(command, [...args, "ci", "--no-fund", "--no-audit", "--loglevel=error", ...omitted], {
    stdio: ["inherit", process.stderr, "inherit"],
  });
  if (code !== 0) throw new Error(`npm ci failed with exit code ${code}`);
}

/**
 * Why an install is needed, or null. Optional packages of other platforms need not be there; what
 * we name ourselves must be, also where it is optional for another package.
 */
function missingPackage(dev) {
  if (!existsSync(installed)) return "none are there";
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  const present = JSON.parse(readFileSync(installed, "utf8")).packages;
  const { dependencies, devDependencies } = wanted[""];
  for (const [path, { version, optional, devOptional, peer, ...is }] of Object.entries(wanted)) {
    const name = path.replace(/^node_modules\//, "");
    const ours = name in dependencies || name in devDependencies;
    if (path === "" || (!ours && (optional || devOptional || peer)) || (!dev && is.dev)) continue;
    if (present[path]?.version !== version) return `${path.replace(/^.*node_modules\//, "")} ${version} is not there`;
  }
  return null;
}
