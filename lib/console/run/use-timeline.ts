/** The attempts of a run: pages of compact rows, and then the events of the stream. */
import { useEffect, useMemo, useRef, useState } from 'react';
import { defined } from '../../base/defined.ts';
import { Timeline } from '../../engine/log/timeline.ts';
import { type Run, type TimelinePage, api } from '../api.ts';
import type { RunEvents } from './run-events.ts';
import type { ShownAttempt } from './waterfall-rows.ts';

export interface RunTimeline {
  readonly rows: readonly ShownAttempt[];
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly retry: () => void;
}

const rowsPerPage = 2_000;

/** @param version changes when the events change */
export function useTimeline(run: Run, reader: RunEvents, version: number): RunTimeline {
  const [state, setState] = useState<{ readonly pages: number; readonly isLoading: boolean; readonly error?: unknown }>({
    pages: 0,
    isLoading: true,
  });
  const [attempt, setAttempt] = useState(0);
  const timeline = useRef(new Timeline<string>(Date.parse));
  const cursor = useRef(0);
  const consumed = useRef(0);
  const { runId, isExternal } = run;
  useEffect(() => {
    const stopping = new AbortController();
    const read = async (): Promise<void> => {
      for (let hasMore = true; hasMore;) {
        const page = await pageOf(runId, isExternal === true, cursor.current, stopping.signal);
        page.into(timeline.current);
        cursor.current = page.cursor;
        ({ hasMore } = page);
        setState(({ pages }) => ({ pages: pages + 1, isLoading: hasMore }));
      }
    };
    read().catch((error: unknown) => {
      if (!stopping.signal.aborted) setState(({ pages }) => ({ pages, isLoading: false, error }));
    });
    return () => stopping.abort();
  }, [runId, isExternal, attempt]);
  const rows = useMemo(() => {
    void version;
    void state.pages;
    if (!state.isLoading) {
      for (const event of reader.streamed.slice(consumed.current))
        if (event.eventId > cursor.current || event.type === 'node.started') timeline.current.add(event);
      consumed.current = reader.streamed.length;
    }
    return timeline.current.rows();
  }, [reader, version, state.pages, state.isLoading]);
  return { rows, isLoading: state.isLoading, error: state.error, retry: () => setAttempt(attempt + 1) };
}

interface Page {
  readonly into: (timeline: Timeline<string>) => void;
  readonly cursor: number;
  readonly hasMore: boolean;
}

/** External-worker runs have no timeline: their few events have the same meaning. */
async function pageOf(runId: string, isExternal: boolean, after: number, signal: AbortSignal): Promise<Page> {
  if (isExternal) {
    const { data, hasMore, cursor } = await api.events(runId, { after: String(after), limit: 1_000 }, signal);
    const into = (timeline: Timeline<string>): void => {
      for (const event of data) timeline.add(event);
    };
    return { into, cursor: Number(cursor), hasMore };
  }
  const page = await api.timeline(runId, { after: String(after), limit: rowsPerPage }, signal);
  return { into: (timeline) => timeline.put(attemptsIn(page)), cursor: Number(page.cursor), hasMore: page.hasMore };
}

function attemptsIn({ origin, nodes, rows }: TimelinePage): readonly ShownAttempt[] {
  const from = Date.parse(origin);
  const at = (ms: number | null): number | undefined => (ms === null ? undefined : from + ms);
  return rows.map(([node, iteration, attempt, queued, started, ended, status, wait, eventId]) =>
    defined({
      nodeId: nodes[node] ?? '',
      iteration: iteration ?? undefined,
      attempt,
      queued: at(queued),
      started: at(started),
      ended: at(ended),
      status,
      wait: wait ?? undefined,
      eventId,
    }),
  );
}
