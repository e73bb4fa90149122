/** Finds the run and the deployment of a webhook by its token. A webhook of an ended run is gone, and a hook is no webhook. */
import { liveHooks } from '../../../engine/devkit/state.ts';
import type { DeploymentId, RunId, Scope } from '../../../engine/ids.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import type { Deps } from '../../deps.ts';
import { type RunReadDeps, readRunFold } from '../../run-log/read-run-fold.ts';
import { devKitOf, isDevKit } from './world.ts';

export interface Webhook {
  readonly runId: RunId;
  readonly deploymentId: DeploymentId;
}

export async function findWebhook(
  deps: RunReadDeps & Pick<Deps, 'hookTokens'>,
  scope: Scope,
  token: string,
): Promise<Webhook | undefined> {
  const claim = await deps.hookTokens.find(scope, token);
  if (claim === undefined) return undefined;
  const { runId, hookId } = claim;
  const fold = await readRunFold(deps, { ...scope, runId });
  if (!isDevKit(fold) || isTerminal(fold.state.progress)) return undefined;
  const isLive = liveHooks(devKitOf(fold)).some((hook) => hook.hookId === hookId && hook.token === token && hook.isWebhook);
  return isLive ? { runId, deploymentId: fold.head.deploymentId } : undefined;
}
