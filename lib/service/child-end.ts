/** How a run that was called has ended, as its own log says. */
import type { ChildEnd } from '../engine/graph/facts.ts';
import { isTerminal } from '../engine/log/fold.ts';
import type { Deps } from './deps.ts';
import { load } from './payloads.ts';
import type { RunFold } from './read-log.ts';

/** @returns undefined while it is open */
export async function childEnd(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  { head, state: { progress } }: RunFold,
): Promise<ChildEnd | undefined> {
  if (!isTerminal(progress)) return undefined;
  switch (progress.status) {
    case 'completed': {
      const { output } = progress;
      // A copy for the caller: what is stored apart belongs to the child, and expires with it.
      return { status: 'completed', output: 'value' in output ? output.value : await load(deps, head.address, output.ref) };
    }
    case 'failed':
      return { status: 'failed', error: progress.error };
    case 'cancelled':
      return { status: 'cancelled', ...(progress.reason === undefined ? {} : { reason: progress.reason }) };
  }
}
