// Reads whole topics with the Java consumer that comes with the embedded Kafka, read committed, in
// a process of its own: no patch of ours reaches it.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { kafkaClassPath } from "../../../stack/install.ts";

const program = fileURLToPath(new URL("./ReadCommitted.java", import.meta.url));

/**
 * Records by key of each topic, up to its last stable offset. `servers` is the folder of the Java
 * servers. Needs a JDK, not only a Java runtime.
 */
export async function readWithJava(
  servers: string,
  brokers: readonly string[],
  topics: readonly string[],
): Promise<Map<string, Map<string, number>>> {
  const args = [
    ...[
      "-XX:TieredStopAtLevel=1",
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
      "-cp",
      await kafkaClassPath(servers),
    ],
    ...[program, brokers.join(","), ...topics],
  ];
  const { stdout } = await promisify(execFile)("java", args, { timeout: 240_000, maxBuffer: 1 << 30 });
  const counts = new Map(topics.map((topic) => [topic, new Map<string, number>()]));
  for (const line of stdout.split("\n")) {
    const [topic = "", , , key = ""] = line.split("\t");
    const of = counts.get(topic);
    of?.set(key, (of.get(key) ?? 0) + 1);
  }
  return counts;
}
