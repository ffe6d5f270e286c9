// The topics, each read whole: what they have of an erasure's requests, the tombstones that take it
// out of those that are compacted, and until when it lies in the others.
import { identify } from "../../algorithms/identity/identity.ts";
import type { RawRecord, TopicRetention } from "../../connections/kafka/port.ts";
import { decodeWithRetries } from "../../runtime/decode.ts";
import { personalTopics } from "../../schemas/personal-data.ts";
import { isTenantTopic, type RecordOf, type TopicName } from "../../schemas/records.ts";
import { exampleMessages } from "../../pipelines/curate/example-messages.ts";
import type { Session } from "../../state/session.ts";
import {
  addLetter,
  addRequest,
  isMeant,
  isOfMeant,
  isUsersLine,
  letterMatcher,
  type Letter,
  type Subject,
} from "./subject.ts";
import { sendOnce } from "../../runtime/send-once.ts";

type TopicsSession = Pick<Session, "kafka" | "codec" | "topic" | "config">;

export interface TopicFinding {
  topic: string;
  live: number;
  lying: number;
  newest: number;
  keeps: TopicRetention | undefined;
}

export interface TopicsFound {
  topics: TopicFinding[];
  /** To be taken out, by key. */
  cacheEntries: string[];
  documents: string[];
  batches: string[];
  examples: Map<string, { id: string; domain: string }>;
}

interface Reading {
  name: TopicName;
  topic: string;
  /** Whose all of it is, whatever its records say. */
  tenant?: string;
}

/** Requests and observations first: by what they say themselves the others are found. */
async function topicsOf({ kafka, topic }: TopicsSession): Promise<Reading[]> {
  const there = new Set(await kafka.topics());
  const severally = (name: TopicName, start: string): Reading[] =>
    [...there]
      .filter((one) => one.startsWith(start))
      .map((one) => ({ name, topic: one, ...(isTenantTopic(name) && { tenant: one.slice(start.length) }) }));
  const named = (Object.keys(personalTopics) as TopicName[])
    .filter((name) => typeof personalTopics[name] === "string")
    .flatMap((name): Reading[] => {
      if (name === "work") return severally(name, `${topic(name)}.`);
      return isTenantTopic(name) ? severally(name, topic(name)) : [{ name, topic: topic(name) }];
    })
    .filter((one) => there.has(one.topic));
  const first = (name: TopicName): number =>
    name === "requests" || name === "tenant-requests" || name === "observations" ? 0 : 1;
  return named.sort((a, b) => first(a.name) - first(b.name));
}

export function createForgetTopics(session: TopicsSession) {
  const { kafka, codec, topic: topicOf } = session;

  async function decoded(name: TopicName, { value }: RawRecord): Promise<RecordOf[TopicName] | null> {
    if (value === null) return null;
    const signal = AbortSignal.timeout(60_000);
    const found = await decodeWithRetries(codec, name, value, { signal });
    return found.ok ? found.value : null;
  }

  return {
    /** Reads all topics; adds requests that say of themselves that they are meant. */
    async read(subject: Subject, onTopic: (topic: string) => void): Promise<TopicsFound> {
      const found: TopicsFound = { topics: [], cacheEntries: [], documents: [], batches: [], examples: new Map() };
      const topics = await topicsOf(session);
      const { found: safety } = await kafka.durability(topics.map(({ topic }) => topic));
      for (const { name, topic, tenant } of topics) {
        onTopic(topic);
        // Read after the requests, which it goes by.
        const isLetter = letterMatcher(subject);
        const live = new Map<string, RecordOf[TopicName] | null>();
        const finding: TopicFinding = { topic, live: 0, lying: 0, newest: 0, keeps: safety.get(topic)?.keeps };
        const reader = kafka.readTopic(topic, async (records, partition) => {
          for (const raw of records) {
            const key = `${partition}/${raw.key?.toString("utf8") ?? ""}`;
            const reported = await decoded(name, raw);
            const record = reported !== null && tenant !== undefined ? { ...reported, tenant } : reported;
            const isIts =
              record !== null &&
              (name === "dead-letters"
                ? raw.timestamp < subject.before && isLetter(record as Letter)
                : isAbout(subject, name, record, { topic, partition, raw }));
            if (finding.keeps?.compacts === true) {
              if (isIts) live.set(key, record);
              else live.delete(key);
            }
            if (!isIts) continue;
            if (name === "dead-letters") addLetter(subject, record as RecordOf["dead-letters"]);
            finding.lying++;
            finding.newest = Math.max(finding.newest, raw.timestamp);
          }
        });
        try {
          await reader.caughtUp;
        } finally {
          await reader.stop();
        }
        finding.live = live.size;
        found.topics.push(finding);
        for (const [key, record] of live) take(found, name, key.slice(key.indexOf("/") + 1), record);
      }
      return found;
    },

    /** Takes what is live out of the compacted topics. */
    async bury({ cacheEntries, documents, batches, examples }: TopicsFound): Promise<void> {
      const changes = [...examples.values()].map((example) => ({ ...example, value: null }));
      await sendOnce(kafka, [
        ...cacheEntries.map((key) => ({ topic: topicOf("response-cache"), key, value: null })),
        ...documents.map((key) => ({ topic: topicOf("documents"), key, value: null })),
        ...batches.map((key) => ({ topic: topicOf("batches"), key, value: null })),
        ...(changes.length === 0 ? [] : await exampleMessages(session, changes)),
      ]);
    },

    /** Says on the topic what must not come back. */
    async remember(records: readonly RecordOf["erasures"][]): Promise<void> {
      const producer = kafka.plainProducer();
      const topic = topicOf("erasures");
      try {
        for (const record of records)
          await producer.send([{ topic, key: record.id, value: codec.encode("erasures", record) }]);
      } finally {
        await producer.close();
      }
    },
  };
}

function take(found: TopicsFound, name: TopicName, key: string, record: RecordOf[TopicName] | null): void {
  if (name === "response-cache") found.cacheEntries.push(key);
  if (name === "documents") found.documents.push(key);
  if (name === "batches") found.batches.push(key);
  if (name !== "examples" || record === null) return;
  const { id, domain } = record as RecordOf["examples"];
  // A copy lies on every partition that its domain is asked on.
  found.examples.set(`${domain}/${id}`, { id, domain });
}

function isAbout(
  subject: Subject,
  name: TopicName,
  record: RecordOf[TopicName],
  { topic, partition, raw }: { topic: string; partition: number; raw: RawRecord },
): boolean {
  const at = raw.timestamp;
  const position = { topic, partition, offset: raw.offset };
  switch (name) {
    case "requests":
    case "tenant-requests":
    case "observations": {
      const reported =
        name === "observations" ? (record as RecordOf["observations"]).request : (record as RecordOf["requests"]);
      const request = identify(reported, position, at);
      const { tenant } = record as RecordOf["requests"] | RecordOf["observations"];
      if (isMeant(subject, { tenant, id: request.id, metadata: request.metadata, at }))
        addRequest(subject, tenant, request.id);
      return isOfMeant(subject, tenant, request.id, at);
    }
    case "work": {
      const { request, decision } = record as RecordOf["work"];
      return isOfMeant(subject, request.tenant, decision.requestId, at);
    }
    case "examples": {
      const example = record as RecordOf["examples"];
      const isIts = isOfMeant(subject, example.tenant, example.source.requestId ?? "", example.createdAt);
      if (isIts) subject.examples.add(example.id);
      return isIts;
    }
    case "documents":
    case "batches":
    case "batch-lines": {
      const isOfUser = name === "batch-lines" && isUsersLine(subject, record as RecordOf["batch-lines"]);
      const { tenant } = record as RecordOf["documents" | "batches" | "batch-lines"];
      return (isOfUser || subject.wholeTenant === tenant) && at < subject.before;
    }
    default: {
      const { tenant, requestId } = record as { tenant: string; requestId: string };
      return isOfMeant(subject, tenant, requestId, at);
    }
  }
}
