// The response cache: which answers it has, for how long, and in how many bytes.
import { z } from "zod";

const ttlHours = z.number().min(0).max(8_760);

export const cache = z.strictObject({
  /** Answers exact repeats of a request without a model call (docs/design/response-cache.md). */
  enabled: z.boolean().default(true),
  /** Hours that an answer is cached; 0: none. */
  ttlHours: ttlHours.default(24),
  /** The same by tenant/domain; 0: not cached. */
  domainTtlHours: z.record(z.string(), ttlHours).default({}),
  /** Bytes of answers and requests that a plan process keeps. */
  budgetBytes: z
    .number()
    .int()
    .min(0)
    .max(2 ** 42)
    .default(64 * 1_048_576),
  /** Bytes of request and answer together; larger ones are not cached. */
  maxBytes: z.number().int().positive().max(8_388_608).default(262_144),
  /** Whether requests with a temperature above 0 and no seed are answered from it, too. */
  sampled: z.boolean().default(false),
});

export type CacheConfig = z.infer<typeof cache>;

const hourMs = 3_600_000;

/** Milliseconds that an answer of a sharing domain (tenant/domain) is cached. */
export const answerTtlMs = (
  { enabled, ttlHours: hours, domainTtlHours }: Pick<CacheConfig, "enabled" | "ttlHours" | "domainTtlHours">,
  domain: string,
): number => (enabled ? (Object.hasOwn(domainTtlHours, domain) ? domainTtlHours[domain]! : hours) * hourMs : 0);

/** The longest of them: how long the topic keeps answers; an hour at least. */
export const longestTtlMs = ({ ttlHours: hours, domainTtlHours }: CacheConfig): number =>
  Math.max(1, hours, ...Object.values(domainTtlHours)) * hourMs;
