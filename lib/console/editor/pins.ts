/** Pins from the nodes of a run. */
import type { WorkflowDefinition } from '../../engine/graph/definition.ts';
import type { PinnedOutputs } from '../../engine/graph/pinned-outputs.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { RunNode } from '../api.ts';

/** They cost nothing to run, and a condition decides by what is pinned before it. */
const alwaysRun: readonly string[] = ['start', 'end', 'condition', 'loop'];

/** The outputs of the completed nodes that the definition has with the same type. */
export const pinsFrom = ({ nodes }: Pick<WorkflowDefinition, 'nodes'>, ran: readonly RunNode[]): PinnedOutputs =>
  Object.fromEntries(
    ran.flatMap(({ nodeId, type, status, output, iteration }): [string, { readonly output: JsonValue }][] => {
      const isKnown = nodes.some((node) => node.id === nodeId && node.type === type);
      if (!isKnown || alwaysRun.includes(type) || status !== 'completed' || output === undefined || iteration !== undefined)
        return [];
      return [[nodeId, { output }]];
    }),
  );
