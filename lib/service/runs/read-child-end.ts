/** How a run that was called has ended, as its own log says. */
import { defined } from '../../engine/defined.ts';
import type { ChildEnd } from '../../engine/graph/facts.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import type { Deps } from '../deps.ts';
import { loadPayload } from '../run-log/payloads.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

/** @returns undefined while it is open */
export async function readChildEnd(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  { head, state: { progress } }: RunFold,
): Promise<ChildEnd | undefined> {
  if (!isTerminal(progress)) return undefined;
  switch (progress.status) {
    case 'completed': {
      const { output } = progress;
      // A copy for the caller: what is stored apart belongs to the child, and expires with it.
      return {
        status: 'completed',
        output: 'value' in output ? output.value : await loadPayload(deps, head.address, output.ref),
      };
    }
    case 'failed':
      return { status: 'failed', error: progress.error };
    case 'cancelled':
      return defined({ status: 'cancelled', reason: progress.reason });
  }
}
