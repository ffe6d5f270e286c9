// precedent stack start|stop|status|token: the embedded Kafka, registry and ClickHouse.
import type { Command } from "commander";
import Table from "cli-table3";
import pc from "./colors.ts";
import { attachStack, stackStatus, stopStack, type StackStatus } from "../stack/attach.ts";
import { registryUrl } from "../stack/registry.ts";
import { runningSystems } from "../stack/running.ts";
import { tokensOf } from "../stack/tokens.ts";
import { curlLine } from "./curl.ts";
import { CommandError, type Io } from "./io.ts";
import { configOf } from "./options.ts";

export function addStack(program: Command, io: Io): void {
  const stack = program.command("stack").description("the embedded Kafka, registry and ClickHouse");

  stack
    .command("start")
    .description("start it, or find it running; it stays when this command ends")
    .action(async (_options, command: Command) => {
      const { folder } = configOf(command, io, { callsArms: false }).config.stack;
      const info = await attachStack(folder, { start: true });
      io.out(
        [
          `kafka       ${info.brokers.join(",")}`,
          `registry    ${info.registryUrl}`,
          `clickhouse  ${info.clickhouse.url}`,
          `folder      ${info.folder}`,
          `to query    ${curlLine(info.folder, "SELECT 1")}`,
          "",
        ].join("\n"),
      );
    });

  stack
    .command("stop")
    .description("stop it; what it holds is kept")
    .action(async (_options, command: Command) => {
      const { folder } = configOf(command, io, { callsArms: false }).config.stack;
      for (const { pid } of runningSystems(folder))
        io.note(`note: process ${pid} (precedent up) uses this stack, and waits until it runs again\n`);
      io.out((await stopStack(folder)) ? `stopped the stack on ${folder}\n` : `no stack runs on ${folder}\n`);
    });

  stack
    .command("token")
    .description("print the token for ClickHouse: the password of user reader, or with --write of user default")
    .option("--write", "the token that may change tables")
    .action(async ({ write }: { write?: boolean }, command: Command) => {
      const info = await attachStack(configOf(command, io, { callsArms: false }).config.stack.folder, { start: false });
      const tokens = tokensOf(info.clickhouse.password);
      io.out(`${write === true ? tokens.write : tokens.read}\n`);
    });

  stack
    .command("status")
    .description("what runs, where, and where its logs are; exit code 1 unless all of it is ready")
    .addHelpText(
      "after",
      "\nA ready stack adds the lines KAFKA= and REGISTRY=, which the clients in docs/clients read.",
    )
    .option("--json", "as JSON")
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const status = await stackStatus(configOf(command, io, { callsArms: false }).config.stack.folder);
      io.out(json === true ? `${JSON.stringify(status, null, 2)}\n` : describe(status));
      if (!status.ready)
        throw new CommandError(
          "the stack is not ready: precedent up or precedent stack start starts it, or see the logs",
        );
    });
}

function describe(status: StackStatus): string {
  const table = new Table({
    head: ["server", "status", "port", "pid", "restarts", "log"],
    style: { head: [], border: [] },
  });
  for (const { name, status: state, port, pid, restarts, log } of status.servers) {
    table.push([name, state === "ready" ? pc.green(state) : state, port ?? "", pid ?? "", restarts, log]);
  }
  const head = status.ready ? "ready" : status.running ? "starting" : "not running";
  const failure =
    status.failure === undefined ? "" : `\n${status.running ? "" : "the last stack ended: "}${status.failure}`;
  return `stack on ${status.folder}: ${head}${failure}\n${table.toString()}\n${addresses(status)}`;
}

/** As shell assignments, for clients that take their servers from the environment. */
function addresses({ ready, servers }: StackStatus): string {
  const [kafka, registry] = (["kafka", "registry"] as const).map(
    (server) => servers.find(({ name }) => name === server)?.port,
  );
  if (!ready || kafka === undefined || registry === undefined) return "";
  return `KAFKA=127.0.0.1:${kafka}\nREGISTRY=${registryUrl(registry)}\n`;
}
