/** The test run of the edited definition, and what it gave, by node. */
import type { JsonValue } from '../../engine/json.ts';
import type { Run } from '../api.ts';
import { useTestRun as useRun } from '../runs/use-test-run.ts';
import type { EditorDocument } from './document.ts';
import { definitionJson } from './read-definition.ts';
import { type NodeResults, noResults, resultsOf } from './test-run.ts';

export interface TestRun {
  readonly run: Run | undefined;
  readonly results: NodeResults;
  readonly start: (document: EditorDocument, input: JsonValue) => Promise<void>;
  readonly clear: () => void;
}

export function useTestRun(): TestRun {
  const { run, start, clear } = useRun();
  return {
    run,
    results: run === undefined ? noResults : resultsOf(run.nodes),
    start: ({ definition, pins }, input) => start({ name: definition.name, ...definitionJson(definition), pinned: pins, input }),
    clear,
  };
}
