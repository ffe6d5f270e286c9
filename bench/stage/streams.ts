// Kafka Streams for the benchmark: built once with Maven from bench/stage/java, in the version of
// Kafka that the embedded stack pins.
import { spawn } from "node:child_process";
import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The one in stack/pom.xml. */
export function kafkaVersion(pom: string): string {
  const version = /<kafka\.version>([^<]+)<\/kafka\.version>/.exec(pom)?.[1];
  if (version === undefined) throw new Error("stack/pom.xml names no kafka.version");
  return version;
}

export interface StreamsProgram {
  version: string;
  /** For java, before the arguments of EmptyStage. */
  arguments: string[];
}

/** Needs java (17 or newer) and, the first time, mvn: some 80 MB are fetched then. */
export async function buildStreams(folder: string, note: (line: string) => void): Promise<StreamsProgram> {
  const version = kafkaVersion(await readFile(fileURLToPath(new URL("../../stack/pom.xml", import.meta.url)), "utf8"));
  const source = fileURLToPath(new URL("./java", import.meta.url));
  const program = await readFile(join(source, "src/main/java/EmptyStage.java"));
  const built = join(folder, `streams-${version}-${checksum(program)}`);
  if ((await readdir(built).catch(() => [])).length === 0) {
    note(`building Kafka Streams ${version}`);
    await mkdir(folder, { recursive: true });
    const draft = `${built}.draft-${process.pid}`;
    try {
      const options = [`-Dkafka.version=${version}`, `-Dbuild.folder=${draft}/build`, `-Djars.folder=${draft}/jars`];
      await maven(["-B", "-q", "-f", join(source, "pom.xml"), "package", ...options]);
      await rename(join(draft, "jars"), built);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }
  const jars = (await readdir(built)).filter((name) => name.endsWith(".jar")).sort();
  const classPath = jars.map((name) => join(built, name)).join(delimiter);
  return {
    version,
    arguments: ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classPath, "EmptyStage"],
  };
}

/** FNV-1a: a changed program is built anew. */
function checksum(bytes: Buffer): string {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16);
}

async function maven(options: string[]): Promise<void> {
  const child = spawn("mvn", options, { stdio: ["ignore", "pipe", "pipe"] });
  const tail: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => tail.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => tail.push(chunk));
  const code = await new Promise<number | null>((settle, fail) => {
    child.once("error", (cause) =>
      fail(new Error("mvn can't be run: install Maven (apt-get install maven)", { cause })),
    );
    child.once("close", settle);
  });
  if (code !== 0) throw new Error(`mvn failed with code ${code}:\n${Buffer.concat(tail).toString().slice(-2_000)}`);
}
