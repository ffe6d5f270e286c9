// Tenant of a record on a tenant's own topic: the broker lets no other client write there, so the
// topic decides. A tenant that the record names has to agree.
import { deadLetter, type DeadLetter, type Position } from "../../runtime/step.ts";

export interface IntakeDependencies {
  /** The tenant of a topic by its full name; undefined: it is no tenant's. */
  tenantOf: (topic: string) => string | undefined;
}

/** What a record says that names no tenant: the schema's default, or nothing. */
const unnamed = (tenant: string): boolean => tenant === "default" || tenant.trim() === "";

/** A claim is reported as a part of it. */
const shown = (claim: string): string => JSON.stringify(claim.length > 200 ? `${claim.slice(0, 200)}...` : claim);

/** The topic's tenant, or the dead letter of a record that claims another. */
export function ownerOf(claim: string, { topic }: Position, { tenantOf }: IntakeDependencies): string | DeadLetter {
  const tenant = tenantOf(topic);
  if (tenant === undefined) throw new Error(`${topic} is no tenant's topic`);
  if (claim === tenant || unnamed(claim)) return tenant;
  return deadLetter("wrong_tenant", `the record says that its tenant is ${shown(claim)}, in a topic of "${tenant}"`);
}
