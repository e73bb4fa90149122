/** The names that the form of a node can complete. Fields read them from a context, because fields are inside fields. */
import { createContext } from 'react';
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import type { PinnedOutputs } from '../../engine/graph/pinned-outputs.ts';
import { contextNamesFor } from './catalogue.ts';
import type { KnownName } from './completions.ts';
import type { NodeResults } from './test-run.ts';

export const KnownNames = createContext<readonly KnownName[]>([]);

/** @param results of the last test, whose start has the input of the run */
export const knownNamesFor = (
  definition: WorkflowDefinition,
  id: string,
  pins: PinnedOutputs,
  results: NodeResults,
): readonly KnownName[] =>
  contextNamesFor(definition, id).map(({ name, by }) => {
    if (by === undefined) return { name, by, value: inputOf(definition, results) };
    return { name, by, value: Object.hasOwn(pins, by) ? pins[by]?.output : results.get(by)?.output };
  });

function inputOf({ nodes }: WorkflowDefinition, results: NodeResults): KnownName['value'] {
  const start = nodes.find(({ type }) => type === 'start');
  const output = start === undefined ? undefined : results.get(start.id)?.output;
  return typeof output === 'object' && output !== null && 'inputReceived' in output ? output['inputReceived'] : undefined;
}
