// Which columns of which rows hold what people wrote, and what stands there once it is cleaned. A
// table that is not named here has no such text. Pure: the texts themselves are cleaned by `Clean`.
import { sessionMembers } from "../../algorithms/identity/session.ts";
import { scopeOf, withheldText, type MaskItem } from "../../algorithms/privacy/mask.ts";
import { pseudonym } from "../../algorithms/privacy/placeholders.ts";
import type { Row } from "../../runtime/rows.ts";

/** Called in the same order for the same row, however often. */
export type Clean = (text: string, form?: MaskItem["form"]) => string;
type Rewrite = (row: Row, clean: Clean, key: string) => Row;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
/** null stays null. */
const orNull = (value: unknown, clean: Clean): string | null => (typeof value === "string" ? clean(value) : null);

const messagesOf = (value: unknown, clean: Clean): object[] =>
  (value as { role: string; content: string }[]).map(({ role, content }) => ({ role, content: clean(content) }));

/** With placeholders, which differ by request, it would fall apart. */
const sessionName = (name: string, clean: Clean, key: string): string =>
  clean(name) === name ? name : pseudonym(key, "session", name);
const isSession = (member: string): boolean => (sessionMembers as readonly string[]).includes(member);

/** The user is who asks, by what name ever: precedent forget finds the pseudonym. */
const metadataOf = (value: unknown, clean: Clean, key: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(value as Record<string, string>).map(([name, one]) => {
      if (name === "user") return [name, one === "" ? "" : pseudonym(key, "user", one)];
      return isSession(name) ? [name, sessionName(one, clean, key)] : [clean(name), clean(one)];
    }),
  );

/** Sets `redacted` where the row is not what the client got: no repeat is answered with it. */
const answer: Rewrite = (row, clean) => {
  const { error_message, stop_sequence = null } = row;
  const given = { text: textOf(row.text), passthrough: textOf(row.passthrough), error_message, stop_sequence };
  const cleaned = {
    text: clean(given.text),
    passthrough: clean(given.passthrough, "json"),
    error_message: orNull(given.error_message, clean),
    stop_sequence: orNull(given.stop_sequence, clean),
  };
  const redacted =
    cleaned.text !== given.text ||
    cleaned.passthrough !== given.passthrough ||
    cleaned.error_message !== given.error_message ||
    cleaned.stop_sequence !== given.stop_sequence;
  // Not among what a repeat gets.
  const failed_arms = ((row.failed_arms ?? []) as { message: string }[]).map((failed) => ({
    ...failed,
    message: clean(failed.message),
  }));
  return { ...row, ...cleaned, failed_arms, redacted };
};

const withheldBytes = Buffer.from(withheldText).toString("base64");

/** Made by us: nothing of the record is in it. */
const isOurs = (header: string): boolean => header.startsWith("precedent-");

/** No stage could decode it, so its bytes are withheld whole. */
const letter: Rewrite = (row, clean) => {
  const list = row.headers_list_base64 as [string, string | null][];
  const key = typeof row.key_base64 === "string" ? Buffer.from(row.key_base64, "base64").toString("utf8") : null;
  return {
    ...row,
    reason: clean(textOf(row.reason)),
    key_base64: key === null ? null : clean(key) === key && !key.includes("\uFFFD") ? row.key_base64 : withheldBytes,
    value_base64: row.value_base64 === null ? null : withheldBytes,
    headers_base64: Object.fromEntries(
      Object.entries(row.headers_base64 as Record<string, string>).map(([name, bytes]) =>
        isOurs(name) ? [name, bytes] : [clean(name), withheldBytes],
      ),
    ),
    headers_list_base64: list.map(([name, bytes]) =>
      isOurs(name) ? [name, bytes] : [clean(name), bytes === null ? null : withheldBytes],
    ),
    // The hash of few bytes tells what they are.
    full_sha256: null,
  };
};

const rewrites: Readonly<Record<string, Rewrite>> = {
  requests: (row, clean, key) => ({
    ...row,
    messages: messagesOf(row.messages, clean),
    passthrough: clean(textOf(row.passthrough), "json"),
    stop: (row.stop as string[]).map((one) => clean(one)),
    metadata: metadataOf(row.metadata, clean, key),
  }),
  responses: answer,
  alternative_answers: answer,
  feedback: (row, clean, key) => ({
    ...row,
    author: row.author === "" ? "" : pseudonym(key, "author", textOf(row.author)),
    text: orNull(row.text, clean),
    comment: orNull(row.comment, clean),
    session: sessionName(textOf(row.session), clean, key),
  }),
  observations: (row, clean, key) => ({
    ...row,
    messages: messagesOf(row.messages, clean),
    text: clean(textOf(row.text)),
    metadata: metadataOf(row.metadata, clean, key),
  }),
  withdrawals: (row, clean) => ({ ...row, comment: orNull(row.comment, clean) }),
  dead_letters: letter,
};

export const hasTexts = (table: string): boolean => Object.hasOwn(rewrites, table);

export const rewrite = (table: string, row: Row, clean: Clean, key: string): Row =>
  rewrites[table]?.(row, clean, key) ?? row;

/** Scope of a row's texts. The request of a dead letter is unknown. */
export const scopeOfRow = (table: string, row: Row): string =>
  scopeOf(
    textOf(row.tenant),
    table === "dead_letters"
      ? `${textOf(row.source_topic)}/${String(row.source_partition)}/${String(row.source_offset)}`
      : textOf(row.request_id),
  );
