/** Prepares the first commit of a code run: pins its deployment and decides its first workflow task. */
import { defined } from '../../../base/defined.ts';
import { decideCodeStart } from '../../../engine/durable/decide.ts';
import { replayVersion, replayVersionKey } from '../../../engine/durable/command-batch.ts';
import type { NotPrepared, PrepareTerms, PreparedRun, ResolvedCode } from '../../new-run.ts';
import type { Decider } from '../../decider.ts';
import { offloadInput } from '../../run-log/payloads.ts';
import { pinDeployment } from '../deployed-run.ts';
import { codeTools } from './decide-code-run.ts';
import { copyLog } from './copy-log.ts';

export async function createCodeRun(
  decider: Decider,
  resolved: ResolvedCode,
  terms: PrepareTerms,
): Promise<PreparedRun | NotPrepared> {
  const { deploymentId, workflowName, codeVersion, input, system = {}, copied } = resolved;
  const { address, now, deadline, expiresAt, startsAt, runsOneInline } = terms;
  const via = runsOneInline ? 'inline' : 'queue';
  const pinned = await pinDeployment(decider, resolved, terms);
  if ('kind' in pinned) return pinned;
  const payload = await offloadInput(decider.deps, { address, expiresAt, kind: 'code' }, input);
  const systemValues = { ...system, [replayVersionKey]: replayVersion };
  const copiedBatches = copied === undefined ? undefined : await copyLog(decider.deps, copied, { address, expiresAt });
  return defined({
    created: { kind: 'code', workflow: defined({ name: workflowName, version: codeVersion }), deploymentId },
    events: decideCodeStart(payload, systemValues, codeTools(now, address, deadline), startsAt, via),
    copied: copiedBatches,
  });
}
