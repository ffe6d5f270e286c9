// Where personal data is replaced besides in examples (docs/privacy.md, Redaction).
import { z } from "zod";
import type { MaskOptions } from "../../algorithms/privacy/mask.ts";
import type { PersonalDataOptions } from "../../algorithms/privacy/pii.ts";

export const privacy = z.strictObject({
  redact: z
    .strictObject({
      /** Replaces personal data in what record inserts. */
      clickhouse: z.boolean().default(false),
      /** Replaces it in answers before they go out. */
      responses: z.boolean().default(false),
      /** Key of placeholders: 16 characters, equal in all processes; keep it. */
      secret: z.string().min(16).optional(),
    })
    .prefault({}),
});

interface Settings {
  privacy: z.infer<typeof privacy>;
  curate: { personalData: PersonalDataOptions };
}

/** How texts are cleaned wherever that is configured; undefined: nowhere. */
export function maskOptions({ privacy: { redact }, curate }: Settings): MaskOptions | undefined {
  if (redact.secret === undefined) return undefined;
  return { key: redact.secret, ...curate.personalData };
}

export function refuseRedact(
  { privacy: { redact } }: Settings,
  refuse: (path: string[], message: string) => void,
): void {
  const { clickhouse, responses, secret } = redact;
  if ((clickhouse || responses) && secret === undefined)
    refuse(
      ["privacy", "redact", "secret"],
      "missing; redaction needs one: at least 16 random characters, by ${VARIABLE}, the same in all processes",
    );
}
