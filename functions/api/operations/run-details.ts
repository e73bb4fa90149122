/** The routes that show parts of one run: what a node saw and did, and the timeline of all attempts. */
import { defined } from '../../../lib/base/defined.ts';
import type { ResponseOf } from '../../../lib/api/routes.ts';
import { topLevel } from '../../../lib/engine/ids.ts';
import type { NodeAttempt } from '../../../lib/engine/log/node-history.ts';
import { iso } from '../../../lib/engine/time.ts';
import { templateKeysOf } from '../../../lib/nodes/catalogue.ts';
import type { ShownValue } from '../../../lib/service/runs/get-run.ts';
import { type RunNodeView, getRunNode } from '../../../lib/service/runs/get-run-node.ts';
import { getTimeline } from '../../../lib/service/runs/get-timeline.ts';
import { type OperationTable, refuse, times } from '../operation.ts';
import { failureOf, nodeOf } from './run-view.ts';

export const runDetailOperations: OperationTable<'getRunNode' | 'getRunTimeline'> = {
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

  async getRunTimeline({ decider: { deps } }, { scope, params, query: { after = '0', limit } }) {
    if (!/^\d{1,15}$/.test(after)) return refuse('cursor_invalid');
    const result = await getTimeline(deps, { ...scope, ...params }, { after: Number(after), limit, parseTime: Date.parse });
    if (result.kind === 'not_found') return refuse(result.kind);
    const { createdAt, rows, last, hasMore } = result;
    const nodes = [...new Set(rows.map(({ nodeId }) => nodeId))];
    const indexes = new Map(nodes.map((id, index) => [id, index]));
    const sinceOrigin = (time: number | undefined): number | null => (time === undefined ? null : time - createdAt);
    return {
      status: 200,
      body: {
        runId: params.runId,
        origin: iso(createdAt),
        nodes,
        rows: rows.map(
          ({ nodeId, iteration = null, attempt, queued, started, ended, status, wait = null, eventId }) =>
            [
              indexes.get(nodeId) ?? 0,
              iteration,
              attempt,
              sinceOrigin(queued),
              sinceOrigin(started),
              sinceOrigin(ended),
              status,
              wait,
              eventId,
            ] as const,
        ),
        cursor: String(last),
        hasMore,
      },
    };
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
