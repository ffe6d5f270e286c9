// The installer against a java and an mvn of our own on the PATH: no network, and their calls are
// counted.
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { downloadedBytes, ensureServers, serversName } from "./install.ts";

let root: string;
let calls: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "precedent-install-"));
  calls = join(root, "calls");
  await mkdir(join(root, "bin"));
  await writeFile(calls, "");
  vi.stubEnv("PATH", join(root, "bin"));
  vi.stubEnv("PRECEDENT_CACHE", join(root, "cache"));
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await rm(root, { recursive: true, force: true });
});

async function command(name: string, script: string): Promise<void> {
  const file = join(root, "bin", name);
  await writeFile(file, `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`);
  await chmod(file, 0o755);
}
const java = (version: string): Promise<void> => command("java", `echo 'openjdk version "${version}"' >&2`);
/** Makes both folders where the real one would. */
const mvn = (end = "exit 0"): Promise<void> =>
  command(
    "mvn",
    `echo called >> ${calls}
for option in "$@"; do case $option in -Dservers.folder=*) out=\${option#*=};; esac; done
mkdir -p $out/kafka $out/registry; touch $out/kafka/a.jar
sleep 0.2
echo "[ERROR] the line that matters"
[ "${end}" = "exit 0" ] && touch $out/registry/b.jar
${end}`,
  );
const called = async (): Promise<number> => (await readFile(calls, "utf8")).split("\n").length - 1;

describe("ensureServers", () => {
  it("downloads once, for every clone and however many ask at the same time", async () => {
    await java("17.0.1");
    await mvn();
    const links = await Promise.all(["one", "one", "two"].map((clone) => ensureServers(join(root, clone))));
    expect(links).toEqual(["one", "one", "two"].map((clone) => join(root, clone, "servers")));
    for (const link of links) expect(await readlink(link)).toBe(join(root, "cache", serversName));
    expect(await readdir(join(root, "one", "servers", "registry"))).toEqual(["b.jar"]);
    await ensureServers(join(root, "one"));
    expect(await called()).toBe(1);
  });

  it("fetches again when the cache was moved away", async () => {
    await java("21");
    await mvn();
    await ensureServers(join(root, "one"));
    await rename(join(root, "cache"), join(root, "elsewhere"));
    await ensureServers(join(root, "one"));
    expect(await called()).toBe(2);
  });

  it("does not take the servers of an older version for its own", async () => {
    await java("21");
    await mvn();
    await ensureServers(join(root, "one"));
    const link = join(root, "one", "servers");
    const older = join(root, "cache", "servers-older");
    await cp(join(root, "cache", serversName), older, { recursive: true });
    await rm(link);
    await symlink(older, link, "dir");
    await ensureServers(join(root, "one"));
    expect(await readlink(link)).toBe(join(root, "cache", serversName));
  });

  it("leaves nothing behind when the download fails or is not whole, and works the next time", async () => {
    await java("17.0.1");
    await mvn("exit 3");
    await expect(ensureServers(join(root, "one"))).rejects.toThrow(/mvn failed with code 3:\n.*the line that matters/);
    await mvn("true && exit 0");
    await expect(ensureServers(join(root, "one"))).rejects.toThrow(/left no registry/);
    expect(await readdir(join(root, "cache"))).toEqual([]);
    await mvn();
    await ensureServers(join(root, "one"));
    expect(await called()).toBe(3);
  });

  it("says what to install", async () => {
    await expect(ensureServers(join(root, "one"))).rejects.toThrow(/java is not on the PATH: install Java 17/);
    await java("11.0.2");
    await expect(ensureServers(join(root, "one"))).rejects.toThrow(/Java 17 or newer is needed.*11\.0\.2/);
    await java("17.0.1");
    await expect(ensureServers(join(root, "one"))).rejects.toThrow(/mvn is not on the PATH: install Maven/);
  });
});

describe("what it reads", () => {
  it("counts what Maven says it downloaded", () => {
    expect(downloadedBytes("[INFO] Downloaded from x: https://host/a.jar (4.1 MB at 20 MB/s)")).toBe(4_100_000);
    expect(downloadedBytes("Downloaded from x: https://host/a.pom (905 B at 2 kB/s)")).toBe(905);
    expect(downloadedBytes("[INFO] BUILD SUCCESS")).toBe(0);
  });
});
