// precedent explain REQUEST_ID: request, arms, examples, answer and feedback, from ClickHouse.
import type { Command } from "commander";
import pc from "./colors.ts";
import type { ClickHouse } from "../connections/clickhouse/port.ts";
import type { Conversation } from "../gateway/conversation.ts";
import { findConversation, tenantsOf } from "../gateway/find-conversation.ts";
import { describeDecision, describeExamples } from "./describe-decision.ts";
import { describeAlternative, describeFeedback, describeResponse, indent, time } from "./describe-response.ts";
import type { ReuseArmConfig } from "../config/schema.ts";
import { CommandError, type Io } from "./io.ts";
import { withClickHouse } from "./reading.ts";
import { recordedId } from "./request-id.ts";

export function addExplain(program: Command, io: Io): void {
  program
    .command("explain")
    .description("why a request was answered as it was: the decision with all arms, examples, answer, feedback, reward")
    .argument(
      "<request-id>",
      "as the client gave it or got it (chatcmpl-..., msg_..., resp_...), or topic-partition-offset",
    )
    .option("-t, --tenant <name>", "owner of the request, where several tenants use the same id")
    .option("--json", "as JSON")
    .action(async (id: string, { tenant, json }: { tenant?: string; json?: boolean }, command: Command) => {
      await withClickHouse(command, io, async (clickhouse, { arms }) => {
        const found = await recorded(clickhouse, id, tenant);
        const reuse = arms.find((arm) => arm.type === "reuse");
        io.out(json === true ? `${JSON.stringify(found, null, 2)}\n` : describeConversation(found, reuse));
      });
    });
}

/** Rejects when it is not recorded, or belongs to several tenants and none is named. */
async function recorded(clickhouse: ClickHouse, given: string, named?: string): Promise<Conversation> {
  const id = await recordedId(clickhouse, given);
  const tenants = named === undefined ? await tenantsOf(clickhouse, id) : [named];
  if (tenants.length > 1) throw new CommandError(`${id} is a request of ${tenants.join(", ")}: name one by --tenant`);
  const [tenant] = tenants;
  const found = tenant === undefined ? null : await findConversation(clickhouse, id, tenant, { seesShared: true });
  if (found === null)
    throw new CommandError(
      `no request ${id} is recorded${named === undefined ? "" : ` of ${named}`}: give the last line of ask or the id of ` +
        `a client's answer, about a second after it; precedent sql "SELECT request_id, question FROM outcomes" lists them`,
    );
  return found;
}

function describeConversation(found: Conversation, reuseArm?: ReuseArmConfig): string {
  const { request, alternative } = found;
  const lines = [
    pc.bold(`request ${request.id}`),
    `  ${time(request.createdAt)}, ${request.domain}`,
    ...request.messages.flatMap(({ role, content }) => [pc.dim(`  ${role}:`), indent(content)]),
    ...describeDecision(found, reuseArm),
    ...describeExamples(found),
    ...describeResponse(found),
    ...(alternative === undefined ? [] : describeAlternative(alternative)),
    ...describeFeedback(found),
  ];
  return `${lines.join("\n")}\n`;
}
