// Fields of a key that is created.
import { useState } from "preact/hooks";
import type { Names } from "../data/names.ts";
import { limitFields, limitsOf, noLimits } from "./limit-fields.tsx";

const namesIn = (text: string): string[] | undefined => {
  const all = text.split(",").map((name) => name.trim());
  const known = [...new Set(all.filter((name) => name !== ""))];
  return known.length === 0 ? undefined : known;
};

export function KeyFields({
  names,
  isFirst,
  isBusy,
  onCreate,
}: {
  names: Names;
  isFirst: boolean;
  isBusy: boolean;
  onCreate: (grants: object) => void;
}) {
  const [isAdmin, setAdmin] = useState(isFirst);
  const [texts, setTexts] = useState({ tenant: "", label: "", arms: "", domains: "" });
  const [limits, setLimits] = useState(noLimits);
  const field = (name: keyof typeof texts, label: string, placeholder: string, list?: string) => (
    <label>
      <span>{label}</span>
      <input
        type="text"
        maxLength={500}
        placeholder={placeholder}
        list={list}
        value={texts[name]}
        onInput={({ currentTarget: { value } }) => setTexts({ ...texts, [name]: value })}
      />
    </label>
  );
  const ofTenant = {
    tenant: texts.tenant.trim() || "default",
    arm: namesIn(texts.arms),
    domain: namesIn(texts.domains),
  };
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        onCreate({ label: texts.label.trim(), ...(isAdmin ? { admin: true } : { ...ofTenant, ...limitsOf(limits) }) });
      }}
    >
      <label>
        <span>For</span>
        <select
          value={isAdmin ? "admin" : "tenant"}
          onChange={({ currentTarget: { value } }) => setAdmin(value === "admin")}
        >
          <option value="tenant">a tenant&apos;s requests</option>
          <option value="admin">operators: this page, no requests</option>
        </select>
      </label>
      {!isAdmin && field("tenant", "Tenant", "default", "tenants")}
      {field("label", "Label", "what it is for")}
      {!isAdmin && field("arms", "Arms", "any; else names, with commas")}
      {!isAdmin && field("domains", "Domains", "any; else names, with commas")}
      {!isAdmin && limitFields(limits, setLimits)}
      <datalist id="tenants">
        {names.tenants.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button type="submit" class="primary" disabled={isBusy}>
        Create
      </button>
    </form>
  );
}
