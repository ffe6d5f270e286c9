// Rules that find personal data and secrets (pii.ts replaces it). Too wide ones spoil examples, too
// narrow ones leak: docs/examples.md, `bench -- privacy`, operators/slow-text.test.ts.
import { addressRules } from "./address-rules.ts";
import { addressRule, emailRule, phoneRules } from "./contact-rules.ts";
import { nameRules } from "./name-rules.ts";
import { findCards, findIbans } from "./number-rules.ts";
import type { Rule } from "./personal-rule.ts";
import { secretRules } from "./secret-rules.ts";
import { traits } from "./text-traits.ts";

export { personalKinds, type PersonalKind, type Rule } from "./personal-rule.ts";

/** In the order of application: what may hold another comes first. */
export const personalRules: readonly Rule[] = [
  ...secretRules,
  emailRule,
  { kind: "IBAN", needs: traits.digit, least: 15, find: findIbans },
  { kind: "CARD", needs: traits.digit, least: 13, find: findCards },
  addressRule,
  ...phoneRules,
  ...addressRules,
  ...nameRules,
];
