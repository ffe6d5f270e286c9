// What the machine has: programs, native libraries, models, the downloaded servers.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../connections/errors.ts";
import { cacheFolder } from "../config/assets.ts";
import { modelFile } from "../config/models.ts";
import type { Config } from "../config/schema.ts";
import { gpuLibraries, gpuRemedy } from "../connections/llama/library.ts";
import { probeLlama } from "../connections/llama/probe.ts";
import { createFaissIndexes } from "../state/vectors/faiss.ts";
import { stackFolder } from "../stack/folder.ts";
import { serversName } from "../stack/install.ts";
import type { Check } from "./doctor-check.ts";
import { deviceChecks, wantsGpu } from "./doctor-device.ts";
import { embedderCheck } from "./doctor-embedder.ts";

const execute = promisify(execFile);

/** First line that a program says of itself; null when it is not there. */
async function reported(program: string, ...given: string[]): Promise<string | null> {
  try {
    const { stdout, stderr } = await execute(program, given, { timeout: 20_000 });
    // Maven colours its version.
    return (`${stdout}\n${stderr}`.trim().split("\n")[0] ?? "").replace(/\u001b\[[\d;]*m/g, "");
  } catch {
    return null;
  }
}

export function atLeast(version: string, wanted: string): boolean {
  const numbers = (text: string): number[] => (/\d+(?:\.\d+)*/.exec(text)?.[0] ?? "0").split(".").map(Number);
  const have = numbers(version);
  for (const [i, want] of numbers(wanted).entries()) {
    const has = have[i] ?? 0;
    if (has !== want) return has > want;
  }
  return true;
}

const setup = "npm run setup";

export async function machineChecks(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Check[]> {
  const embedded = isEmbedded(config);
  const servers = [join(stackFolder(config.stack.folder).servers), join(cacheFolder(environment), serversName)].some(
    (folder) => existsSync(join(folder, "complete")),
  );
  const llamas = config.arms.filter((arm) => arm.type === "llama").map((arm) => modelFile(arm.model, environment));
  const lost = llamas.filter((file) => !existsSync(file));
  const logs = config.arms.flatMap((arm) => (arm.type === "recorded" && !existsSync(arm.file) ? [arm.file] : []));

  const [embedding, java, maven, python, compiler, make, faiss, llama] = await Promise.all([
    embedderCheck(config, environment),
    reported("java", "-version"),
    reported("mvn", "-v"),
    reported("python3", "--version"),
    reported("g++", "--version"),
    reported("make", "--version"),
    faissProblem(),
    llamas.length > 0 ? llamaLibrary(config) : null,
  ]);
  const needsPython = (config.embedder.type === "onnx" && embedding.state !== "fine") || lost.length > 0;
  const checks: Check[] = [
    atLeast(process.version, "20.15")
      ? fine("node", process.version)
      : { name: "node", state: "missing", detail: process.version, remedy: "install Node 20.15 or newer" },
    ...[
      present("java", java, embedded, "needed by the embedded Kafka and registry", "openjdk-17-jre-headless"),
      // It only downloads the servers.
      present("mvn", maven, embedded && !servers, "downloads the embedded servers, once", "maven"),
      present("python", python, needsPython, "fetches and makes the models, once", "python3 python3-venv"),
      present(
        "compiler",
        make === null ? null : compiler,
        false,
        "builds the addons for FAISS and llama.cpp",
        "g++ make",
      ),
    ],
    faiss === null
      ? fine("faiss", "built against the system's libfaiss")
      : {
          name: "faiss",
          state: "lacking",
          detail: `not built (${faiss}): the exact index takes its place, right but slow beyond some ten thousand examples`,
          remedy: `apt-get install libfaiss-dev libopenblas-dev g++ make python3, then ${setup}`,
        },
    embedding,
  ];
  const unfetched = "not downloaded yet (190 MB, at the first start)";
  if (embedded)
    checks.push(
      servers
        ? fine("servers", "Kafka and the registry are downloaded")
        : { name: "servers", state: "waiting", detail: unfetched, remedy: setup },
    );
  const lacking = (name: string, files: string[], remedy: string): Check => ({
    ...{ name, state: "missing", detail: `${files.join(", ")} is not there`, remedy },
  });
  if (llamas.length > 0)
    checks.push(
      lost.length === 0
        ? fine("language model", llamas.join(", "))
        : lacking("language model", lost, `${setup}, or name a GGUF file in arms.model`),
    );
  if (llama !== null) checks.push(...llama);
  if (logs.length > 0)
    checks.push(lacking("recorded answers", logs, 'name a log of {"request", "response"} lines in arms.file'));
  return checks;
}

const fine = (name: string, detail: string): Check => ({ name, state: "fine", detail });

/** Whether one of the servers is ours to run. */
export const isEmbedded = ({ kafka, registry, clickhouse }: Config): boolean =>
  kafka.brokers === undefined || registry.url === undefined || clickhouse.url === undefined;

/** packages: those of Debian that have it. */
function present(name: string, found: string | null, needed: boolean, what: string, packages: string): Check {
  if (found !== null) return fine(name, found);
  return {
    name,
    state: needed ? "missing" : "lacking",
    detail: `not there: ${what}${needed ? "" : " (not needed now)"}`,
    remedy: `apt-get install ${packages}`,
  };
}

/** Null when the addon works. */
async function faissProblem(): Promise<string | null> {
  try {
    await (await createFaissIndexes(2)).close();
    return null;
  } catch (error) {
    return (messageOf(error).split("\n")[0] ?? "").slice(0, 120);
  }
}

/** Devices that llama.cpp found, or why it can't be used; and checks of the configured devices. */
async function llamaLibrary(config: Config): Promise<Check[]> {
  const name = "llama.cpp";
  const libraries = config.arms.some((arm) => arm.type === "llama" && wantsGpu(arm)) ? gpuLibraries() : [];
  try {
    const devices = await probeLlama(libraries);
    const detail = devices.map((device) => `${device.name} (${device.description})`).join(", ");
    const found = { devices, libraries, remedy: gpuRemedy() };
    return [fine(name, detail), ...deviceChecks(config, found)];
  } catch (error) {
    const why = (messageOf(error).split("\n")[0] ?? "").slice(0, 120);
    return [
      {
        name,
        state: "missing",
        detail: `the addon does not work (${why}): arms of type llama can't start`,
        remedy: `apt-get install g++ git, then ${setup}`,
      },
    ];
  }
}
