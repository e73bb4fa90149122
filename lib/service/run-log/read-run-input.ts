/** Reads a run's input from the head, a separate item or the bucket. */
import { invariant } from '../../engine/invariant.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { Head } from '../../engine/log/head.ts';
import type { Deps } from '../deps.ts';
import { loadPayload } from './payloads.ts';

export async function readRunInput(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  { address, commit }: Pick<Head, 'address' | 'commit'>,
): Promise<JsonValue> {
  const payload = commit.events.find((event) => event.type === 'INPUT_SET')?.input;
  invariant(payload !== undefined, `the first commit of ${address.runId} has no INPUT_SET event`);
  return 'ref' in payload ? loadPayload(deps, address, payload.ref) : payload.value;
}
