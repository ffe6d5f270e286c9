// A month of requests as rows, made by ClickHouse itself from numbers: 20 tenants, 40 keys, three
// arms, 18 % cache hits, 2 % failures, one in twenty rated, one in ten with an example, a quarter
// in sessions of five, one in a hundred in one endless session. Ids are ordered by time, as UUIDs
// of version 7 are.

const monthMs = 30 * 86_400_000;

const arm = "['small', 'middle', 'large'][1 + other % 3]";
const status = "if(hash % 100 < 2, 'failed', 'ok')";
const source = "multiIf(hash % 100 < 2, 'none', hash % 100 < 20, 'cache', 'generated')";
const base = (from: number, count: number, until: number, all: number): string => `
  SELECT number, cityHash64(number) AS hash, cityHash64(number, 1) AS other,
    toUInt64(${until - monthMs} + intDiv(number * ${monthMs}, ${all})) AS millis,
    leftPad(lower(hex(millis)), 12, '0') AS padded, fromUnixTimestamp64Milli(toInt64(millis), 'UTC') AS at,
    concat(substring(padded, 1, 8), '-', substring(padded, 9, 4), '-7000-8000-', leftPad(toString(number), 12, '0')) AS id,
    concat('tenant-', toString(hash % 20)) AS owner, concat(owner, '/', ['help', 'sales'][1 + hash % 2]) AS place,
    ${arm} AS chosen
  FROM numbers(${from}, ${count})`;

/** Inserts requests [from, from + count) of `all`, in the month that ends at `until`. */
export const statements = (from: number, count: number, until: number, all: number): string[] => {
  const rows = base(from, count, until, all);
  return [
    `INSERT INTO requests (request_id, tenant, domain, messages, metadata, created_at, kafka_offset)
     SELECT id, owner, place, [('user', concat('question ', toString(hash % 100000), ' about order ', toString(number)))],
       multiIf(hash % 4 = 0, map('user', concat('user-', toString(other % 50000)), 'session', concat('session-', toString(intDiv(number, 64)), '-', toString(hash % 3))),
         hash % 100 = 3, map('user', 'robot', 'session', 'endless'),
         map('user', concat('user-', toString(other % 50000)))), at, number FROM (${rows})`,
    `INSERT INTO decisions (request_id, tenant, domain, arm, probability, policy_version, arms, source, created_at, kafka_offset)
     SELECT id, owner, place, chosen, 0.5, 1 + intDiv(number, 100000),
       [('small', 's', 0.1, [], 0.6, 0.1, 0.6, 0.1, 0.5, [], 'best_last'),
        ('large', 'l', 1., [], 0.8, 0.1, 0.8, 0.3, 0.5, [], 'best_last')],
       if(hash % 100 < 20, 'cache', 'routed'), at, number FROM (${rows})`,
    `INSERT INTO responses (request_id, tenant, domain, account, attempt, status, text, arm, model, source, example_tokens,
       prompt_tokens, completion_tokens, cost, billed, first_token_ms, total_ms, error_code, created_at, kafka_offset)
     SELECT id, owner, place, concat('prk-', toString(hash % 40)), 1, ${status}, repeat(concat('word', toString(number % 1000), ' '), 20),
       chosen, chosen, ${source}, 50, 200 + hash % 500, other % 300, 0.0001 * (1 + other % 100), 1,
       if(hash % 3 = 0, NULL, 50 + other % 500), 100 + exp(4 + (other % 1000) / 250),
       if(hash % 100 < 2, ['endpoint_timeout', 'cancelled', 'rate_limited'][1 + other % 3], NULL), at, number FROM (${rows})`,
    `INSERT INTO rewards (request_id, tenant, reward, weight, counted, received, newest_at, arm, domain, account, policy_version, version)
     SELECT id, owner, (other % 7) / 6, 1, 1, 1, at, chosen, place, concat('prk-', toString(hash % 40)), 1 + intDiv(number, 100000), 1
     FROM (${rows}) WHERE number % 20 = 0`,
    `INSERT INTO example_uses (example_id, request_id, tenant, domain, arm, model, position, similarity, helpfulness, arm_cost, arm_mean, created_at, kafka_offset)
     SELECT concat('example-', toString(other % 20000)), id, owner, place, chosen, chosen, 1, 0.8, 0.7, 0.1, 0.6, at, number
     FROM (${rows}) WHERE number % 10 = 0`,
  ];
};

/** What does not grow with the requests. */
export const others = (until: number): string[] => [
  examples,
  `INSERT INTO policies (name, version, kind, body, feature_version, metrics, created_at, kafka_timestamp)
   SELECT 'router', number + 1, 'linucb', concat('{"arms":[', repeat('0.12345678,', 20000), '0]}'), 1, map('rewards', number),
     fromUnixTimestamp64Milli(toInt64(${until} - (200 - number) * ${Math.floor(monthMs / 200)}), 'UTC') AS at, at FROM numbers(200)`,
  `INSERT INTO dead_letters (source_topic, source_partition, source_offset, stage, tenant, code, reason, key_base64, value_base64, created_at, kafka_offset)
   SELECT 'requests', 0, number, 'plan', 'tenant-7', concat('code_', toString(number % 5)), 'it can not be read', 'a2V5',
     base64Encode(repeat('v', 2000)), fromUnixTimestamp64Milli(toInt64(${until} - number * 10000), 'UTC'), number FROM numbers(20000)`,
];

const examples = `
  INSERT INTO examples (example_id, tenant, domain, request, response, source_arm, quality, created_at, kafka_timestamp)
  SELECT concat('example-', toString(number)), 'tenant-0', 'tenant-0/help', concat('question ', toString(number)), 'an answer', 'large', 0.8,
    now64(3), now64(3) FROM numbers(20000)`;
