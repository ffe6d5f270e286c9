// Figures and times for people.

export const count = (value: number): string => value.toLocaleString("en-US");

/** Three figures, or none at all. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1_000) return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
  return String(Number(value.toPrecision(3)));
}

export function cost(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  return Math.abs(value) >= 0.0001 ? String(Number(value.toPrecision(3))) : value.toFixed(7);
}

export const share = (value: number): string => `${(value * 100).toFixed(value > 0 && value < 0.1 ? 1 : 0)} %`;

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1_000) return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

const two = (value: number): string => String(value).padStart(2, "0");

/** The day only where it is not today. */
export function time(at: number): string {
  const then = new Date(at);
  const clock = `${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}`;
  return then.toDateString() === new Date().toDateString() ? clock : `${dayOf(then)} ${clock}`;
}

const dayOf = (then: Date): string => `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`;

export const whole = (at: number): string => `${new Date(at).toISOString().replace("T", " ").slice(0, 19)} UTC`;

export function ago(at: number | null): string {
  if (at === null) return "–";
  const ms = Math.max(0, Date.now() - at);
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s ago`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min ago`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h ago`;
  return `${Math.round(ms / 86_400_000)} days ago`;
}

/** Domains are tenant/domain; beside the tenant the second half says it. */
export const domainOf = (domain: string, tenant: string): string =>
  domain.startsWith(`${tenant}/`) ? domain.slice(tenant.length + 1) : domain;
