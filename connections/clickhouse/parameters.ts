// Parameters of a statement: in the URL while they are short, else as literals of its text, since
// servers and proxies bound the length of a URL (16 KiB in the embedded server).

/** Bytes of all parameters in a URL. */
const mostUrlBytes = 4_096;
/** Room for the statement beside its literals; ClickHouse parses 256 KiB by default. */
const statementBytes = 262_144;

export interface BoundStatement {
  query: string;
  query_params?: Record<string, unknown>;
  clickhouse_settings?: { max_query_size: string };
}

/** The longest lists move into the text until the others fit into a URL. */
export function bindParameters(query: string, parameters: Record<string, unknown> | undefined): BoundStatement {
  if (parameters === undefined) return { query };
  const lists = Object.entries(parameters)
    .flatMap(([name, value]) => (isList(value) ? [{ name, text: literal(value) }] : []))
    .map((list) => ({ ...list, bytes: encodedBytes(list.text) }))
    .sort((one, other) => other.bytes - one.bytes);
  let bytes = lists.reduce((sum, list) => sum + list.bytes, 0);
  const moved = new Map<string, string>();
  for (const { name, text, bytes: own } of lists) {
    if (bytes <= mostUrlBytes) break;
    moved.set(name, text);
    bytes -= own;
  }
  if (moved.size === 0) return { query, query_params: parameters };
  const whole = query.replace(/\{(\w+):(Array\([^{}]*\))\}/g, (placeholder, name: string, type: string) => {
    const text = moved.get(name);
    return text === undefined ? placeholder : `CAST(${text}, '${type}')`;
  });
  return {
    query: whole,
    query_params: Object.fromEntries(Object.entries(parameters).filter(([name]) => !moved.has(name))),
    clickhouse_settings: { max_query_size: String(Buffer.byteLength(whole) + statementBytes) },
  };
}

type List = readonly (string | number)[];
const isList = (value: unknown): value is List =>
  Array.isArray(value) && value.every((one) => typeof one === "string" || Number.isFinite(one));

const literal = (list: List): string =>
  `[${list.map((one) => (typeof one === "string" ? `'${one.replace(/[\\']/g, "\\$&")}'` : String(one))).join(",")}]`;

/** As a URL has it: other bytes than those of letters, digits and a few marks take three. */
const encodedBytes = (text: string): number =>
  [...text.matchAll(/[^\w.*-]+/g)].reduce(
    (sum, [marks]) => sum + 2 * Buffer.byteLength(marks),
    Buffer.byteLength(text),
  );
