// npm run bench:flame -- PROFILE OUT.svg TITLE: draws a CPU profile that node has
// written (bench -- NAME --profile) as a flame graph.
import { readFile, writeFile } from "node:fs/promises";
import { flameGraph, type CpuProfile } from "./support/flame-graph.ts";

const [profile, out, title = ""] = process.argv.slice(2);
if (profile === undefined || out === undefined) {
  process.stderr.write("usage: npm run bench:flame -- PROFILE.cpuprofile OUT.svg TITLE\n");
  process.exit(2);
}
const read = JSON.parse(await readFile(profile, "utf8")) as CpuProfile;
await writeFile(out, flameGraph(read, { title, width: 1_200, least: 0.002, leaveOut: ["(idle)"] }));
