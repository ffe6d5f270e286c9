// What an erasure remembers of what it erased: hashes, by which it is recognised when it comes
// again, and from which nobody learns what it was. The same in SQL, so that tables are searched
// where they lie. Lengths stand before names: no two names give the same text.
import { hash } from "node:crypto";

const hashOf = (text: string): string => hash("sha256", text).slice(0, 32);
const counted = (name: string): string => `${Buffer.byteLength(name)}:${name}`;

/** Of everything that bears the id of a tenant's request. */
export const erasedRequest = (tenant: string, requestId: string): string =>
  hashOf(`request ${counted(tenant)}${requestId}`);
/** Of everything of a tenant. */
export const erasedTenant = (tenant: string): string => hashOf(`tenant ${tenant}`);
/** Where the record of a dead letter stood. */
export interface LetterPlace {
  topic: string;
  partition: number;
  offset: number;
}
/** Of a dead letter, which may be in no state to say whose it is, by where its record stood. */
export const erasedLetter = ({ topic, partition, offset }: LetterPlace): string =>
  hashOf(`letter ${counted(topic)}${partition} ${offset}`);

/** erasedRequest of two columns or expressions. */
export const erasedRequestSql = (tenant: string, requestId: string): string =>
  `substring(lower(hex(SHA256(concat('request ', toString(length(toString(${tenant}))), ':', toString(${tenant}), ${requestId})))), 1, 32)`;
