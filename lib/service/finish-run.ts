/**
 * The last duties of an ended run, in their order, the head last: while the head is open, everybody who passes
 * does them again, and each of them may be done twice.
 */
import { invariant } from '../engine/invariant.ts';
import { isTerminal } from '../engine/log/fold.ts';
import { isTestRun } from '../engine/log/head.ts';
import type { Deps } from './deps.ts';
import type { RunFold } from './read-log.ts';

export async function finishRun(deps: Deps, { head, state }: RunFold): Promise<void> {
  const { progress, asOf } = state;
  invariant(isTerminal(progress) && asOf !== 0, 'only an ended run has last duties');
  // What an author tries out is nobody else's news.
  if (!isTestRun(head)) {
    await deps.notices.runStatusChanged({
      run: head.address,
      workflow: head.workflow,
      status: progress.status,
      ...(head.trace === undefined ? {} : { correlationId: head.trace.correlationId }),
      startedAt: head.createdAt,
      endedAt: progress.endedAt,
    });
  }
  // From here on its deployment may be removed.
  if (head.kind === 'fetch') await deps.deployments.letGo(head.address, head.deploymentId, head.address.runId);
  await deps.log.project(head.address, {
    status: progress.status,
    asOf,
    endedAt: progress.endedAt,
    ...(progress.status === 'failed' ? { error: progress.error } : {}),
  });
}
