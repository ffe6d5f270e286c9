// What the panels of a request are handed.
import type { Conversation } from "../../../conversation.ts";

export type Decision = NonNullable<Conversation["decision"]>;
export type Answer = NonNullable<Conversation["response"]>;
