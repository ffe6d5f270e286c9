// Hashes that an erasure keeps to recognise erased data that arrives again; in SQL they search
// tables. Names are prefixed with their lengths, so that no two lists give the same text.
import { hash } from "node:crypto";

const hashOf = (text: string): string => hash("sha256", text).slice(0, 32);
const counted = (name: string): string => `${Buffer.byteLength(name)}:${name}`;

/** Hash for all records of one request of a tenant. */
export const erasedRequest = (tenant: string, requestId: string): string =>
  hashOf(`request ${counted(tenant)}${requestId}`);
/** Hash for all records of a tenant. */
export const erasedTenant = (tenant: string): string => hashOf(`tenant ${tenant}`);
export interface LetterPosition {
  topic: string;
  partition: number;
  offset: number;
}
/** Hash for a dead letter, by the position of its record: its tenant may be unreadable. */
export const erasedLetter = ({ topic, partition, offset }: LetterPosition): string =>
  hashOf(`letter ${counted(topic)}${partition} ${offset}`);

export const erasedRequestSql = (tenant: string, requestId: string): string =>
  `substring(lower(hex(SHA256(concat('request ', toString(length(toString(${tenant}))), ':', toString(${tenant}), ${requestId})))), 1, 32)`;
