/** A test run of an unpublished graph. A new test, and leaving the page, delete the data of the one before. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { type Run, api } from '../api.ts';
import { isOpenRun } from './open-run.ts';

const pollMs = 400;

export interface TestRun {
  /** undefined: none was started, or its state has not arrived */
  readonly run: Run | undefined;
  readonly error: unknown;
  readonly start: (body: unknown) => Promise<void>;
  readonly clear: () => void;
}

export function useTestRun(): TestRun {
  const [runId, setRunId] = useState<string | undefined>();
  const last = useRef<string | undefined>(undefined);
  const forget = useCallback(() => {
    // What cannot be deleted now is deleted with the retention of test runs.
    if (last.current !== undefined) void api.stopTest(last.current).catch(() => {});
    last.current = undefined;
  }, []);
  useEffect(() => forget, [forget]);
  const { data, error } = useQuery({
    queryKey: ['test run', runId],
    queryFn: ({ signal }) => api.run(runId ?? '', {}, signal),
    enabled: runId !== undefined,
    refetchInterval: (query) => (query.state.data === undefined || isOpenRun(query.state.data) ? pollMs : false),
    gcTime: 0,
  });
  return {
    run: runId === undefined ? undefined : data,
    error: runId === undefined || data !== undefined ? null : error,
    async start(body) {
      const { runId: started } = await api.test(body);
      forget();
      last.current = started;
      setRunId(started);
    },
    clear() {
      forget();
      setRunId(undefined);
    },
  };
}
