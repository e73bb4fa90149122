/** Prepares the first commit of a run of the Workflow DevKit: the event of its start, and where the platform starts it, its first message. */
import { defined } from '../../../base/defined.ts';
import { decideCreation } from '../../../engine/devkit/decide.ts';
import { openDecision } from '../../../engine/decision.ts';
import { invariant } from '../../../engine/invariant.ts';
import type { Payload } from '../../../engine/json.ts';
import { emptyState } from '../../../engine/log/fold.ts';
import type { NotPrepared, PrepareTerms, PreparedRun, ResolvedDevKit } from '../../new-run.ts';
import type { Decider } from '../../decider.ts';
import { blobPrefixOf } from '../../run-log/payloads.ts';
import { pinDeployment } from '../deployed-run.ts';
import { flowJob } from './jobs.ts';
import { registeredApp } from './register-app.ts';

export async function createDevKitRun(
  decider: Decider,
  resolved: ResolvedDevKit,
  terms: PrepareTerms,
): Promise<PreparedRun | NotPrepared> {
  const { deps } = decider;
  const { address, now, deadline } = terms;
  const { deploymentId, workflowName, request, sendsFirst, system = {} } = resolved;
  const app = await registeredApp(deps, address, deploymentId);
  const pinned = app === undefined ? await pinDeployment(decider, resolved, terms) : undefined;
  if (pinned !== undefined && 'kind' in pinned) return pinned;
  const queueNamespace = app === undefined ? pinned?.manifest.devkit?.queueNamespace : app.queueNamespace;
  const draft = openDecision(emptyState(), { now, ...deadline });
  const payload = await ownPayload(deps, terms, request.payload);
  decideCreation(draft, { ...request, ...payload, data: { ...request.data, ...system } });
  return {
    created: defined({ kind: 'devkit' as const, workflow: { name: workflowName }, deploymentId, queueNamespace }),
    events: draft.events,
    ...(sendsFirst === true ? { firstJobs: (creation) => flowJob(deps, creation, 'start') } : {}),
  };
}

/** The input of a rerun can be a stored value of the other run, which expires with that one: this run gets a copy. */
async function ownPayload(
  { blobs }: Decider['deps'],
  { address, expiresAt }: PrepareTerms,
  payload: Payload | undefined,
): Promise<{ readonly payload?: Payload }> {
  if (payload === undefined || !('ref' in payload) || !payload.ref.startsWith('blob:')) return defined({ payload });
  const key = payload.ref.slice('blob:'.length);
  const prefix = blobPrefixOf({ address, kind: 'devkit' });
  if (key.startsWith(prefix)) return { payload };
  const copy = `${prefix}${key.slice(key.lastIndexOf('/') + 1)}`;
  const isCopied = await blobs.copy(address, key, copy, expiresAt);
  invariant(isCopied, () => `the input ${key} of the run that is repeated is missing`);
  return { payload: { ref: `blob:${copy}`, bytes: payload.bytes } };
}
