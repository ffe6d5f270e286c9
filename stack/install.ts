// Fetches the Java servers once into a cache that clones share, and links the stack folder. The
// entry appears by one rename when complete.
import { spawn } from "node:child_process";
import { lstat, mkdir, readdir, readlink, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../config/assets.ts";
import { codeOf } from "./process.ts";
import { stackFolder } from "./folder.ts";
import { withMutex } from "../connections/process/lock.ts";
import { takePrefetched } from "../connections/process/prefetched.ts";
import { startProgress } from "./progress.ts";
import { isMissing, succeeds } from "../connections/errors.ts";

/** As in pom.xml; change it with the versions, so that no old cache is used. */
export const serversName = "servers-kafka-4.2.2-apicurio-2.6.13";
/** Last file written; without it a folder is not complete. */
const marker = "complete";
/** What Maven fetches into an empty repository, for the progress bar. */
const downloadedMegabytes = 190;

/**
 * Makes sure that `<folder>/servers` holds Kafka and the registry. Needs `java` 17, and `mvn` to
 * download. Safe concurrently. Throws with what is missing.
 */
export async function ensureServers(folder: string, say?: (line: string) => void): Promise<string> {
  const link = stackFolder(folder).servers;
  await checkJava();
  if (await isCurrent(link)) return link;
  // Absolute, because a link to it is made.
  const cache = resolve(cacheFolder());
  await mkdir(cache, { recursive: true }).catch((error: Error) => {
    throw new Error(`the cache folder ${cache} can't be made (${error.message}): set PRECEDENT_CACHE to another one`);
  });
  const target = join(cache, serversName);
  if (!(await isComplete(target)))
    // Ten minutes: another clone may be downloading over a slow line.
    await withMutex(cache, serversName, () => download(cache, target, say), 600_000);
  await withMutex(stackFolder(folder).root, "link", async () => {
    if (await isCurrent(link)) return;
    // A link to an older version or into a cache that was moved away, or what an interrupted set-up
    // left there.
    if (await lstat(link).catch(() => undefined)) await rm(link, { recursive: true, force: true });
    await symlink(target, link, "dir");
  });
  return link;
}

/** Whether they are downloaded, and linked into this folder. */
export const hasServers = (folder: string): Promise<boolean> => isCurrent(stackFolder(folder).servers);

/** A link made before an upgrade leads to the old version: it must not count. */
async function isCurrent(link: string): Promise<boolean> {
  const target = await readlink(link).catch(() => "");
  return basename(target) === serversName && (await isComplete(link));
}

const isComplete = (servers: string): Promise<boolean> => succeeds(stat(join(servers, marker)));

async function download(cache: string, target: string, say?: (line: string) => void): Promise<void> {
  if (await isComplete(target)) return;
  // The lock is ours, so drafts are leftovers of killed downloads.
  for (const name of await readdir(cache))
    if (name.startsWith(`${serversName}.draft`)) await rm(join(cache, name), { recursive: true, force: true });
  await rm(target, { recursive: true, force: true });
  const draft = join(cache, `${serversName}.draft-${process.pid}`);
  try {
    if (!(await takePrefetched("servers", draft))) await maven(draft, say);
    for (const part of ["kafka", "registry"])
      if ((await readdir(join(draft, part)).catch(() => [])).length === 0)
        throw new Error(`mvn ended well but left no ${part} in ${draft}`);
    await rm(join(draft, "scratch"), { recursive: true, force: true });
    await writeFile(join(draft, marker), `${new Date().toISOString()}\n`);
    await rename(draft, target);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function maven(draft: string, say?: (line: string) => void): Promise<void> {
  const pom = fileURLToPath(new URL("./pom.xml", import.meta.url));
  const options = [
    "-B",
    "-f",
    pom,
    "package",
    `-Dservers.folder=${draft}`,
    `-Dscratch.folder=${join(draft, "scratch")}`,
  ];
  const title = "Downloading Kafka 4.2.2 and Apicurio Registry 2.6.13";
  const progress = startProgress(title, downloadedMegabytes, "MB", say);
  const child = spawn("mvn", options, { stdio: ["ignore", "pipe", "pipe"] });
  const tail: string[] = [];
  let bytes = 0;
  const read = (line: string): void => {
    bytes += downloadedBytes(line);
    progress.update(bytes / 1e6);
    if (/^Download(ing|ed) from|^Progress/.test(line)) return;
    tail.push(line);
    if (tail.length > 20) tail.shift();
  };
  createInterface({ input: child.stdout }).on("line", read);
  createInterface({ input: child.stderr }).on("line", read);
  try {
    const code = await codeOf(child);
    if (code !== 0) throw new Error(`mvn failed with code ${code}:\n${tail.join("\n")}`);
  } catch (error) {
    if (isMissing(error))
      throw new Error("mvn is not on the PATH: install Maven (apt-get install maven), needed once for the servers");
    throw error;
  } finally {
    progress.finish();
  }
}

/** Bytes of Maven's "Downloaded ..." line; 0 for any other line. */
export function downloadedBytes(line: string): number {
  const found = /Downloaded from .*\(([\d.]+) (B|kB|MB|GB) at/.exec(line);
  const units: Record<string, number> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };
  return Math.round(Number(found?.[1] ?? 0) * (units[found?.[2] ?? ""] ?? 0));
}

async function checkJava(): Promise<void> {
  const child = spawn("java", ["-version"], { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  child.stderr.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await new Promise<void>((settle, fail) => {
    child.once("error", (error) =>
      fail(
        isMissing(error)
          ? new Error("java is not on the PATH: install Java 17 (apt-get install openjdk-17-jre-headless)")
          : error,
      ),
    );
    child.once("close", () => settle());
  });
  const version = Number(/version "(\d+)/.exec(text)?.[1] ?? 0);
  if (version < 17) throw new Error(`Java 17 or newer is needed for Kafka 4; "java -version" says: ${text.trim()}`);
}

/** Kafka's jars as a class path, sorted (AppCDS needs a fixed order). */
export async function kafkaClassPath(servers: string): Promise<string> {
  const folder = join(servers, "kafka");
  const jars = (await readdir(folder)).filter((name) => name.endsWith(".jar")).sort();
  return jars.map((name) => join(folder, name)).join(":");
}
