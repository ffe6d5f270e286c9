// Rows of the list of requests beyond its first page: those that the stream brings, and older ones.
import { errorOf } from "../../../connections/errors.ts";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { LiveBatch, RequestList, RequestRow } from "../data/types/requests.ts";
import { get, watch } from "./api.ts";
import { mostOffset, pageRowsOf } from "../data/page-rows.ts";
import type { Query } from "./hooks.ts";
import { merged } from "./live-rows.ts";

const settleMs = 1_200;

/** The live stream; reloads the list soon after each event. */
export function useLive(paused: boolean, reload: () => void) {
  const [live, setLive] = useState(false);
  const [skipped, setSkipped] = useState(0);
  const [fresh, setFresh] = useState<ReadonlyMap<string, RequestRow>>(new Map());
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const again = useRef(reload);
  again.current = reload;
  const take = useCallback(({ events, skipped: more }: LiveBatch): void => {
    setFresh((before) => merged(before, events));
    if (more > 0) setSkipped((sum) => sum + more);
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      again.current();
    }, settleMs);
  }, []);
  useEffect(() => {
    if (paused) return undefined;
    const stopping = new AbortController();
    again.current();
    void watch(take, setLive, stopping.signal);
    return () => {
      stopping.abort();
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [paused, take]);
  return { fresh, live, skipped };
}

/** Further pages, fixed to the time at which the first of them was loaded. */
export function useOlder(asked: Query, first: RequestList | undefined) {
  const [rows, setRows] = useState<RequestRow[]>([]);
  const [isEnd, setEnd] = useState(false);
  const [isLoading, setLoading] = useState(false);
  const [error, setError] = useState<Error>();
  const until = useRef<number | undefined>(undefined);
  const pageRows = pageRowsOf(asked);
  const key = JSON.stringify(asked);
  const current = useRef(key);
  current.current = key;
  useEffect(() => {
    [until.current] = [undefined];
    setRows([]);
    setEnd(false);
    setError(undefined);
  }, [key]);
  const load = (): void => {
    const { last, ...rest } = asked;
    until.current ??= Date.now();
    const times = last === undefined ? {} : { until: until.current, from: until.current - Number(last) };
    setLoading(true);
    get<RequestList>("requests", { ...rest, ...times, offset: pageRows + rows.length })
      .then(
        (page) => {
          if (current.current !== key) return;
          setRows((before) => [...before, ...page.rows]);
          setEnd(page.rows.length < pageRows);
        },
        (cause: unknown) => setError(errorOf(cause)),
      )
      .finally(() => setLoading(false));
  };
  const isThere = !isEnd && (first?.rows.length ?? 0) >= pageRows;
  const isFull = isThere && pageRows + rows.length > mostOffset;
  return { rows, load, isLoading, error, isFull, isMore: isThere && !isFull };
}
