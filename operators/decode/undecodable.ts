// An undecodable record is counted and dead-lettered, except: requests (plan does it), dead-letters
// (would return for ever), records without value on compacted topics, where they delete a key.
import type { Source } from "../../runtime/rows.ts";
import type { RecordedTopic } from "./rows.ts";

const notLettered: ReadonlySet<RecordedTopic> = new Set(["requests", "dead-letters"]);
const compacted: ReadonlySet<RecordedTopic> = new Set(["examples", "policies"]);

export interface UndecodableDependencies {
  /** Resolves when the record is on dead-letters. */
  deadLetter(source: Source, code: string, reason: string): Promise<void>;
  onUndecodable(topic: RecordedTopic, source: Source, code: string, reason: string): void;
  /** Without prefix. */
  topicOf(topic: string): RecordedTopic;
}

export function createUndecodable({ deadLetter, onUndecodable, topicOf }: UndecodableDependencies) {
  return async function undecodable(source: Source, code: string, reason: string): Promise<void> {
    const topic = topicOf(source.topic);
    onUndecodable(topic, source, code, reason);
    if (notLettered.has(topic) || (source.record.value === null && compacted.has(topic))) return;
    await deadLetter(source, code, reason);
  };
}
