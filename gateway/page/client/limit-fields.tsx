// Fields of a key's limits, and what is sent of them.
import type { ApiKey } from "../../../schemas/types.ts";

const limitNames = [
  ["requestsPerMinute", "Requests a minute", "1"],
  ["tokensPerMinute", "Tokens a minute", "1"],
  ["spendLimitPerDay", "Spend limit a day", "any"],
  ["spendLimitPerMonth", "Spend limit a month", "any"],
] as const;

type LimitName = (typeof limitNames)[number][0];
/** As they are typed; empty: no limit. */
type LimitTexts = Record<LimitName, string>;

export const limitTexts = (of: Partial<Pick<ApiKey, LimitName>>): LimitTexts =>
  Object.fromEntries(limitNames.map(([name]) => [name, String(of[name] ?? "")])) as LimitTexts;
export const noLimits = limitTexts({});

/** A form refuses to be sent with what is no number: its text is "", as if there were no limit. */
export const limitFields = (texts: LimitTexts, onChange: (texts: LimitTexts) => void) =>
  limitNames.map(([name, label, step]) => (
    <label key={name}>
      <span>{label}</span>
      <input
        type="number"
        min={step === "1" ? "1" : "0"}
        step={step}
        placeholder="none"
        value={texts[name]}
        onInput={({ currentTarget: { value } }) => onChange({ ...texts, [name]: value })}
      />
    </label>
  ));

/** What differs from before, as numbers; "none": taken away. */
export const limitsOf = (texts: LimitTexts, before = noLimits): Partial<Record<LimitName, number | "none">> =>
  Object.fromEntries(
    limitNames.flatMap(([name]) => {
      const text = texts[name].trim();
      return text === before[name] ? [] : [[name, text === "" ? "none" : Number(text)]];
    }),
  );
