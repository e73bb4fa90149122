/** What a node of a run saw and did, in API responses. */
import { defined } from '../../../lib/base/defined.ts';
import type { ResponseOf } from '../../../lib/api/routes.ts';
import type { NodeAttempt } from '../../../lib/engine/log/node-history.ts';
import type { ShownValue } from '../../../lib/service/runs/get-run.ts';
import type { RunNodeView } from '../../../lib/service/runs/get-run-node.ts';
import { times } from '../operation.ts';
import { failureOf, nodeOf } from './run-view.ts';

export const runNodeOf = (runId: string, view: RunNodeView): ResponseOf<'getRunNode'>['body'] => {
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
