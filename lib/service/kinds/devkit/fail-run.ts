/** Ends a run whose message could not be delivered. */
import { deadlineTermsOf } from '../../../engine/deadline.ts';
import { openDecision } from '../../../engine/decision.ts';
import { decideRequest } from '../../../engine/devkit/decide.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import type { DevKitJob } from '../../../ports/jobs.ts';
import { dispatchEffects } from '../../commit/dispatch-effects.ts';
import { measureCommit } from '../../commit/append-facts.ts';
import type { Decider } from '../../decider.ts';
import { append } from '../../run-log/append.ts';
import { readRunFold } from '../../run-log/read-run-fold.ts';
import { failureRequest } from './decide-devkit-run.ts';
import { devKitOf, isDevKit } from './world.ts';

export async function failRun(decider: Decider, { run, creation }: DevKitJob, reason: string): Promise<void> {
  const { deps, by } = decider;
  const fold = creation === undefined ? undefined : await readRunFold(deps, run);
  if (!isDevKit(fold)) return;
  const { specVersion } = devKitOf(fold).run;
  const appended = await append(deps, fold, by, () => {
    if (isTerminal(fold.state.progress)) return [];
    const draft = openDecision(fold.state, { now: deps.clock.now(), ...deadlineTermsOf(fold.head) });
    decideRequest(draft, failureRequest(specVersion, `a message could not be delivered: ${reason}`, 'undeliverable'));
    return draft.events;
  });
  if (appended.kind !== 'committed') return;
  measureCommit(deps, fold, appended.commit);
  await dispatchEffects(decider, fold, appended.commit);
}
