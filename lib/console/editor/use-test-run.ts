/** The test run of the edited definition. A new test and the end of the editor delete the data of the one before. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import type { JsonValue } from '../../engine/json.ts';
import { type Run, api } from '../api.ts';
import { isOpenRun } from '../runs/open-run.ts';
import type { EditorDocument } from './document.ts';
import { definitionJson } from './read-definition.ts';
import { type NodeResults, noResults, resultsOf } from './test-run.ts';

const pollMs = 400;

export interface TestRun {
  readonly run: Run | undefined;
  readonly results: NodeResults;
  readonly start: (document: EditorDocument, input: JsonValue) => Promise<void>;
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
  const { data } = useQuery({
    queryKey: ['test run', runId],
    queryFn: ({ signal }) => api.run(runId ?? '', {}, signal),
    enabled: runId !== undefined,
    refetchInterval: (query) => (query.state.data === undefined || isOpenRun(query.state.data) ? pollMs : false),
    gcTime: 0,
  });
  return {
    run: runId === undefined ? undefined : data,
    results: runId === undefined || data === undefined ? noResults : resultsOf(data.nodes),
    async start({ definition, pins }, input) {
      const { runId: started } = await api.test({ name: definition.name, ...definitionJson(definition), pinned: pins, input });
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
