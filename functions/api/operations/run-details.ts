/** The route that shows what a node of a run saw and did. */
import { defined } from '../../../lib/base/defined.ts';
import type { ResponseOf } from '../../../lib/api/routes.ts';
import { topLevel } from '../../../lib/engine/ids.ts';
import type { NodeAttempt } from '../../../lib/engine/log/node-history.ts';
import { templateKeysOf } from '../../../lib/nodes/catalogue.ts';
import type { ShownValue } from '../../../lib/service/runs/get-run.ts';
import { type RunNodeView, getRunNode } from '../../../lib/service/runs/get-run-node.ts';
import { type OperationTable, refuse, times } from '../operation.ts';
import { failureOf, nodeOf } from './run-view.ts';

export const runDetailOperations: OperationTable<'getRunNode'> = {
  async getRunNode({ decider: { deps, plans } }, { scope, params: { runId, nodeId }, query: { iteration = topLevel, attempt } }) {
    const wanted = { nodeId, iteration, ...defined({ attempt }) };
    const result = await getRunNode({ deps, plans, templateKeysOf }, { ...scope, runId }, wanted);
    switch (result.kind) {
      case 'found':
        return { status: 200, body: runNodeOf(runId, result.view) };
      case 'node_not_found':
        return refuse('not_found', { message: `The run has no node ${nodeId}.` });
      case 'not_found':
        return refuse(result.kind);
    }
  },
};

const runNodeOf = (runId: string, view: RunNodeView): ResponseOf<'getRunNode'>['body'] => {
  const [context, inputs, config] = [partsOf(view.context), partsOf(view.inputs), partsOf(view.config)];
  return defined({
    runId,
    node: nodeOf(view.node, view.runHasEnded ? 'cancelled' : 'pending'),
    context: context.value,
    contextOmitted: context.omitted,
    inputs: inputs.value,
    inputsOmitted: inputs.omitted,
    config: config.value,
    configOmitted: config.omitted,
    attempts: view.attempts.map(attemptOf),
    attemptsOmitted: view.attemptsOmitted === 0 ? undefined : view.attemptsOmitted,
    lastEventId: view.lastEventId,
  });
};

const partsOf = (shown: ShownValue | undefined) => ({
  value: shown !== undefined && 'value' in shown ? shown.value : undefined,
  omitted: shown !== undefined && 'omittedBytes' in shown ? { bytes: shown.omittedBytes } : undefined,
});

const attemptOf = ({ number, status, failure, printed, tokens, endedBy, queuedAt, startedAt, endedAt, retryAt }: NodeAttempt) =>
  defined({
    attempt: number,
    status,
    ...times({ queuedAt, startedAt, endedAt }),
    error: failure === undefined ? undefined : failureOf(failure),
    ...times({ retryAt }),
    printed,
    tokens,
    eventId: endedBy,
  });
