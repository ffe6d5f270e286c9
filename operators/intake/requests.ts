// Moves a request from its tenant's topic to `requests` under that tenant. One without id is named
// by its position; its waiting counts. Delivery: exactly one copy, refusal or dead letter.
import { deadlineOf, identify, skewMs } from "../../algorithms/identity/identity.ts";
import type { Emitting, SourceContract } from "../../runtime/pipeline.ts";
import { ok, type Received, type Step } from "../../runtime/step.ts";
import { deadlineExceeded } from "../../runtime/retrying.ts";
import type { Request } from "../../schemas/types.ts";
import type { ContractDependencies } from "../contracts.ts";
import { refusedResponse } from "../refusal.ts";
import { ownerOf, type IntakeDependencies } from "./owner.ts";

export function createIntakeRequest(owners: IntakeDependencies): Step<Received<Request>, Emitting<"requests">> {
  return function intake(received, { deadline }) {
    const { record, position, timestamp, receivedAt } = received;
    const tenant = ownerOf(record.tenant, position, owners);
    if (typeof tenant !== "string") return tenant;
    const { id: key, createdAt } = identify(record, position, timestamp);
    // What is too long stays so: plan refuses it, and says why.
    const id = record.id === null || record.id === "" ? key : record.id;
    // Whose budget a request counts against is the gateway's to say.
    const request: Request = { ...record, tenant, id, account: null, createdAt };
    // plan counts a deadline from the copy.
    if (receivedAt - timestamp > skewMs) {
      const left = deadline - receivedAt;
      if (left <= 0) return deadlineExceeded();
      request.allow = { ...record.allow, deadlineMs: left };
    }
    return ok({ ...received, emits: [{ output: "requests", key, record: request }] });
  };
}

export function intakeRequestContract(
  dependencies: IntakeDependencies & ContractDependencies,
): SourceContract<"tenant-requests", "responses"> {
  const { tenantOf, limits, partitions, clock } = dependencies;
  return {
    tenantOf: ({ topic }) => tenantOf(topic),
    deadline: ({ record, timestamp }) =>
      deadlineOf({ allow: record.allow, createdAt: timestamp }, limits.deadlineMs, limits.maxDeadlineMs),
    id: ({ record, position, timestamp }) => identify(record, position, timestamp).id,
    answer(received, problem) {
      const tenant = ownerOf(received.record.tenant, received.position, { tenantOf });
      // It could not be told to whom it claims to be.
      if (typeof tenant !== "string") return [];
      const own = { ...received, record: { ...received.record, tenant } };
      return [refusedResponse(own, problem, clock(), partitions())];
    },
  };
}
