// The rules by which personal data and secrets are found in texts (algorithms/privacy/pii.ts
// replaces what they find). A rule that is too wide spoils examples (a shell command must stay what
// it is), one that is too narrow lets data through: docs/examples.md says where each of them
// stands, and `bench -- privacy` how much they find. operators/slow-text.test.ts holds them to
// linear time.
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
  { kind: "IBAN", needs: traits.capital | traits.digit, least: 15, find: findIbans },
  { kind: "CARD", needs: traits.digit, least: 13, find: findCards },
  addressRule,
  ...phoneRules,
  ...addressRules,
  ...nameRules,
];
