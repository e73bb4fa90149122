/** The steps of an external-worker run as nodes: the attempts of a step have its name, and are one node. */
import type { Failure } from '../log/events.ts';
import type { ExternalState } from './fold.ts';
import { externalFailure } from './failure.ts';
import type { StepAttempt } from './run.ts';

export interface ExternalNode {
  /** the name of the step */
  readonly nodeId: string;
  /** number of the last attempt, from 1 */
  readonly attempt: number;
  readonly last: StepAttempt;
}

/** In the order in which the steps began. */
export function externalNodes({ steps }: Pick<ExternalState, 'steps'>): readonly ExternalNode[] {
  const nodes = new Map<string, ExternalNode>();
  for (const last of steps.values()) {
    const attempt = (nodes.get(last.stepName)?.attempt ?? 0) + 1;
    nodes.set(last.stepName, { nodeId: last.stepName, attempt, last });
  }
  return [...nodes.values()];
}

export interface ExternalRootCause {
  readonly node: ExternalNode;
  readonly failure: Failure;
}

/** The last failed step, if the error of the failed run is its error. The library adds text of its own to some errors of runs. */
export function externalRootCause({ run, steps }: ExternalState): ExternalRootCause | undefined {
  if (run.status !== 'failed' || run.error === null) return undefined;
  const failed = externalNodes({ steps }).filter(({ last }) => last.status === 'failed' && last.error !== null);
  const latest = failed.toSorted((one, other) => (one.last.id < other.last.id ? 1 : -1));
  for (const node of latest) {
    const { error } = node.last;
    if (error !== null && run.error.message.includes(error.message)) return { node, failure: externalFailure(error) };
  }
  return undefined;
}
