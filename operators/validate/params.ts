// What a request may ask for: the range of every parameter, so that no arm has to guess what a
// strange value means.
import { z } from "zod";
import type { Request } from "../../schemas/types.ts";

/** Ids are remembered for a day, so nothing may be under way for longer. */
const MAX_DEADLINE_MS = 86_400_000;

const parametersSchema = z.object({
  params: z.object({
    maxTokens: z.number().int().min(1).nullable(),
    temperature: z.number().min(0).max(2).nullable(),
    topP: z.number().gt(0).max(1).nullable(),
    seed: z.number().int().nullable(),
    stop: z.array(z.string().min(1).max(1_024)).max(16),
  }),
  allow: z.object({
    maxCost: z.number().min(0).nullable(),
    deadlineMs: z.number().int().min(1).max(MAX_DEADLINE_MS).nullable(),
    costWeight: z.number().min(0).nullable(),
  }),
  replyPartition: z.number().int().min(0).nullable(),
});

/** Null when all is in range; else which fields are not, with what is allowed. */
export function parameterProblem(request: Request): string | null {
  const result = parametersSchema.safeParse(request);
  if (result.success) return null;
  return result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
}
