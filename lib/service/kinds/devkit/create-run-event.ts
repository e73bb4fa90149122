/** Creates a run of the Workflow DevKit by the event of its start. The same event a second time finds the run, from any sender. */
import { openDecision } from '../../../engine/decision.ts';
import { decideCreation } from '../../../engine/devkit/decide.ts';
import { runIdError } from '../../../engine/devkit/run-id.ts';
import { emptyState } from '../../../engine/log/fold.ts';
import { defaultDeadline } from '../../../engine/log/head.ts';
import { after } from '../../../engine/time.ts';
import { createRun, isCreated } from '../../runs/create-run.ts';
import type { CreateEventRequest } from './create-event.ts';
import { type EventResult, resultOf } from './event-result.ts';
import { hashOf, resolvedOf } from './resolve-world-run.ts';
import { whyNotExecuted } from './why-not-executed.ts';
import { type World, withRun } from './world.ts';
import { type WorldResult, errorOf, invalid, noRun, refused } from './world-error.ts';

export async function createRunOf(
  world: World,
  { run, request, params }: CreateEventRequest,
): Promise<WorldResult<EventResult> | { readonly kind: 'exists' }> {
  const { deps } = world;
  const now = deps.clock.now();
  const wrong = runIdError(run.runId, now);
  if (wrong !== undefined) return invalid('/runId', wrong);
  const resolved = resolvedOf(request);
  if ('code' in resolved) return resolved;
  // Decided here for its refusal; the run is created by the same decision.
  const decided = decideCreation(openDecision(emptyState(), { now, deadlineAt: after(now, defaultDeadline) }), request);
  if (decided.kind === 'refused') return errorOf(decided);
  // Read first: a message and the start's own request often create the same run at once.
  if ((await deps.log.head(run)) !== undefined) return { kind: 'exists' };
  const unfit = await whyNotExecuted(deps, run, resolved);
  if (unfit !== undefined) return unfit;
  const owner = deps.ids.nonce();
  const terms = { scope: { projectId: run.projectId, environment: run.environment }, bodyHash: hashOf(request) };
  const created = await createRun(world, terms, { runId: run.runId, owner }, resolved, now);
  if (!isCreated(created)) {
    if (created.kind === 'run_exists') return { kind: 'exists' };
    return created.kind === 'deployment_not_found'
      ? refused('deployment_not_found', `no deployment and no application has the id ${resolved.deploymentId}`)
      : noRun;
  }
  const result = await withRun(world, run, true, (fold) => resultOf(world, fold, request, params, decided, created.commit));
  return result ?? noRun;
}
