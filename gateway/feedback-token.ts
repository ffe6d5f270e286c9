// A token that allows feedback on one request and nothing else: an application passes it to the
// reader of the answer, who has no API key. It names tenant, request, the key of the request and
// its expiry in the clear, signed by HMAC-SHA-256 with the deployment's secret: any gateway can
// check it and none stores it. access.ts checks whether the key is still valid.
import { createHmac, timingSafeEqual } from "node:crypto";

export type FeedbackTokens = ReturnType<typeof createFeedbackTokens>;

export interface Allowed {
  tenant: string;
  requestId: string;
  /** Id of the key that the request was made with; null: there were no keys. */
  keyId: string | null;
}

export interface FeedbackTokenOptions {
  secret: string;
  lifeMs: number;
  now: () => number;
}

/** Tells a token from a key before either is checked. */
const mark = "pft-";
const pattern = new RegExp(`^(${mark}[\\w-]{1,4096})\\.([\\w-]{43})$`);

export const isFeedbackToken = (text: string): boolean => text.startsWith(mark);

export function createFeedbackTokens({ secret, lifeMs, now }: FeedbackTokenOptions) {
  const sign = (signed: string): Buffer => createHmac("sha256", secret).update(signed).digest();
  return {
    make({ tenant, requestId, keyId }: Allowed): string {
      const says = JSON.stringify([tenant, requestId, now() + lifeMs, keyId]);
      const signed = mark + Buffer.from(says).toString("base64url");
      return `${signed}.${sign(signed).toString("base64url")}`;
    },
    /** null: it is forged, of another secret, or has ended. */
    read(token: string): Allowed | null {
      const [, signed, signature] = pattern.exec(token) ?? [];
      if (signed === undefined || signature === undefined) return null;
      if (!timingSafeEqual(sign(signed), Buffer.from(signature, "base64url"))) return null;
      // Signed, so a gateway of this deployment wrote it.
      const says = Buffer.from(signed.slice(mark.length), "base64url").toString("utf8");
      const [tenant, requestId, endsAt, keyId] = JSON.parse(says) as [string, string, number, (string | null)?];
      // Without: by a gateway from before tokens named their key, so it can't be said whether it is
      // valid.
      return keyId !== undefined && now() < endsAt ? { tenant, requestId, keyId } : null;
    },
  };
}
