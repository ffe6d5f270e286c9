// An undecodable record is counted and dead-lettered, except: requests (plan does it), dead-letters
// (would return for ever), records without value.
import type { Source } from "../../runtime/rows.ts";
import type { RecordedTopic } from "./rows.ts";

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
    if (topic === "requests" || topic === "dead-letters" || source.record.value === null) return;
    await deadLetter(source, code, reason);
  };
}
