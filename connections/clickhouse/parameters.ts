// Parameters of a statement: in the URL while they are short, else as literals of its text, since
// servers and proxies bound the length of a URL (16 KiB in the embedded server).
// formatQueryParams is what the client writes a URL with; the package does not export it.
import { formatQueryParams } from "@clickhouse/client/dist/common/data_formatter/format_query_params.js";
import { sqlLiteral } from "../../algorithms/text/sql-literal.ts";

/** Bytes of all parameters in a URL. */
const mostUrlBytes = 4_096;
/** Room for the statement beside its literals; ClickHouse parses 256 KiB by default. */
const statementBytes = 262_144;

export interface BoundStatement {
  query: string;
  query_params?: Record<string, unknown>;
  clickhouse_settings?: { max_query_size: string };
}

/** Name and type of a parameter; those left out are no values, or not read from a text. */
const placeholder = /\{\s*(\w+)\s*:\s*(?!Identifier\b|Map\b|Tuple\b)([A-Z][^{}]*)\}/g;

/** The longest ones move into the text until the others fit into a URL. */
export function bindParameters(query: string, parameters: Record<string, unknown> | undefined): BoundStatement {
  if (parameters === undefined) return { query };
  const all = Object.entries(parameters)
    .map(([name, value]) => ({ name, bytes: encodedBytes(formatQueryParams({ value })) }))
    .sort((one, other) => other.bytes - one.bytes);
  let bytes = all.reduce((sum, one) => sum + one.bytes, 0);
  if (bytes <= mostUrlBytes) return { query, query_params: parameters };
  const used = new Set(Array.from(query.matchAll(placeholder), ([, name = ""]) => name));
  const moved = new Set<string>();
  for (const { name, bytes: own } of all) {
    if (bytes <= mostUrlBytes) break;
    if (!used.has(name) || (parameters[name] ?? null) === null) continue;
    moved.add(name);
    bytes -= own;
  }
  if (moved.size === 0) return { query, query_params: parameters };
  const whole = query.replace(placeholder, (written, name: string, type: string) =>
    moved.has(name) ? literal(parameters[name], type) : written,
  );
  return {
    query: whole,
    query_params: Object.fromEntries(Object.entries(parameters).filter(([name]) => !moved.has(name))),
    clickhouse_settings: { max_query_size: String(Buffer.byteLength(whole) + statementBytes) },
  };
}

/** The text that a URL would have, read by the server as the type, as it does there. */
const literal = (value: unknown, type: string): string =>
  `CAST(${sqlLiteral(typeof value === "string" ? value : formatQueryParams({ value }))}, ${sqlLiteral(type)})`;

/** As a URL has it: other bytes than those of letters, digits and a few marks take three. */
const encodedBytes = (text: string): number =>
  [...text.matchAll(/[^\w.*-]+/g)].reduce(
    (sum, [marks]) => sum + 2 * Buffer.byteLength(marks),
    Buffer.byteLength(text),
  );
