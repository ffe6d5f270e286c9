// Where a response was published, and how it is read again from there.
import type { Response } from "../schemas/types.ts";

export interface SentPosition {
  topic: string;
  partition: number;
  offset: number;
}

/** A response as it was sent; null: the topic has it no more. Rejects while brokers are away. */
export type SentResponse = (position: SentPosition, tenant: string, requestId: string) => Promise<Response | null>;
