// ACLs as the broker takes them.
import type { AclEntry } from "kafkajs";
import type { Acl } from "../../pipelines/acls.ts";

/** Numbers of Kafka's protocol. */
export const numbers = {
  ...{ topic: 2, group: 3, "transactional-id": 5, literal: 3, prefixed: 4 },
  ...{ All: 2, Read: 3, Write: 4, Describe: 8 },
} as const;

/** kafkajs exports the enumerations' types, and this project no values of them. */
const code = (value: number): never => value as never;

export const entries = (acls: readonly Acl[]): AclEntry[] =>
  acls.flatMap(({ principal, resource, name, pattern, operations }) =>
    operations.map((operation) => ({
      ...{ principal: `User:${principal}`, host: "*", permissionType: code(3) },
      ...{ resourceType: code(numbers[resource]), resourceName: name, resourcePatternType: code(numbers[pattern]) },
      operation: code(numbers[operation]),
    })),
  );
