/** Reads how a child run ended from its log. */
import { defined } from '../../base/defined.ts';
import type { ChildEnd } from '../../engine/graph/facts.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import type { Deps } from '../deps.ts';
import { loadPayload } from '../run-log/payloads.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';

/** @returns undefined while the run is open */
export async function readChildEnd(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  { head, state: { progress } }: RunFold,
): Promise<ChildEnd | undefined> {
  if (!isTerminal(progress)) return undefined;
  switch (progress.status) {
    case 'completed': {
      const { output } = progress;
      // Loads an offloaded output for the caller, because the stored payload expires with the child.
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
