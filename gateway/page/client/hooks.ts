// What views share: data that is loaded, and loaded again while the page is looked at; where in the
// page we are; light or dark.
import { errorOf } from "../../../connections/errors.ts";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.ts";

export interface Loaded<T> {
  data: T | undefined;
  /** The data answers an earlier question; the answer to the current one is on its way. */
  isStale: boolean;
  error: Error | undefined;
  reload: () => void;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** `everyMs`: absent: once. A newer question replaces the older one. */
export function useData<T>(path: string, query: Query = {}, everyMs?: number): Loaded<T> {
  const [found, setFound] = useState<{ key: string; data: T }>();
  const [error, setError] = useState<Error>();
  const asking = useRef<AbortController | undefined>(undefined);
  const key = JSON.stringify([path, query]);
  const load = useCallback((): void => {
    asking.current?.abort();
    const mine = (asking.current = new AbortController());
    get<T>(path, query, mine.signal).then(
      (data) => {
        setFound({ key, data });
        setError(undefined);
      },
      (cause: unknown) => {
        if (!mine.signal.aborted) setError(errorOf(cause));
      },
    );
  }, [key]);
  useEffect(() => {
    load();
    if (everyMs === undefined) return () => asking.current?.abort();
    const timer = setInterval(() => {
      if (!document.hidden) load();
    }, everyMs);
    return () => {
      clearInterval(timer);
      asking.current?.abort();
    };
  }, [load, everyMs]);
  return { data: found?.data, isStale: found !== undefined && found.key !== key, error, reload: load };
}

const settledMs = 250;

/** The text, trimmed, once it has not changed for settledMs: saves a query for each keystroke. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text.trim());
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text.trim()), settledMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

export interface Route {
  view: string;
  query: URLSearchParams;
}

function currentRoute(): Route {
  const [view = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: view === "" ? "overview" : view, query: new URLSearchParams(query) };
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const moved = (): void => setRoute(currentRoute());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return route;
}

/** Empty values are left out. */
export const linkTo = (view: string, query: Readonly<Record<string, string | number>> = {}): string => {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${view}${text === "" ? "" : `?${text}`}`;
};

/** What a view shows is in its address, to be linked and to come back to; the history stays. */
export function useQuery(): [URLSearchParams, (changes: Readonly<Record<string, string>>) => void] {
  const { view, query } = useRoute();
  const text = query.toString();
  const set = useCallback(
    (changes: Readonly<Record<string, string>>): void => {
      const next = new URLSearchParams(text);
      for (const [name, value] of Object.entries(changes))
        if (value === "") next.delete(name);
        else next.set(name, value);
      location.replace(linkTo(view, Object.fromEntries(next)));
    },
    [view, text],
  );
  return [query, set];
}

/** The words of a view's search field, which follow into the address once they have settled. */
export function useSearch([query, set]: ReturnType<typeof useQuery>) {
  const [search, setSearch] = useState(query.get("search") ?? "");
  const settled = useSettled(search);
  useEffect(() => {
    if (settled !== (query.get("search") ?? "")) set({ search: settled });
  }, [settled]);
  return { search, setSearch, settled };
}

export type Theme = "light" | "dark";
const themeName = "precedent.theme";

/** The system's theme until the reader chooses one. */
export function useTheme(): [Theme, () => void] {
  const system = (): Theme => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const [theme, setTheme] = useState<Theme>(() => (localStorage.getItem(themeName) as Theme | null) ?? system());
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const follow = (): void => {
      if (localStorage.getItem(themeName) === null) setTheme(system());
    };
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, []);
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
  }, [theme]);
  const toggle = useCallback(() => {
    setTheme((before) => {
      const next = before === "dark" ? "light" : "dark";
      localStorage.setItem(themeName, next);
      return next;
    });
  }, []);
  return [theme, toggle];
}
