/** Reads a run's input from the head, a separate item or the bucket. */
import { invariant } from '../../engine/invariant.ts';
import { type JsonValue, type Payload, inline } from '../../engine/json.ts';
import type { RunEvent } from '../../engine/log/events.ts';
import type { Head } from '../../engine/log/head.ts';
import type { Deps } from '../deps.ts';
import { loadPayload } from './payloads.ts';

export async function readRunInput(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  { address, commit }: Pick<Head, 'address' | 'commit'>,
): Promise<JsonValue> {
  const payload = commit.events.map(inputIn).find((input) => input !== undefined);
  invariant(payload !== undefined, `the first commit of ${address.runId} has no input`);
  return 'ref' in payload ? loadPayload(deps, address, payload.ref) : payload.value;
}

const inputIn = (event: RunEvent): Payload | undefined => {
  if (event.type === 'INPUT_SET') return event.input;
  return event.type === 'DEVKIT' && event.event === 'run_created' ? (event.payload ?? inline(null)) : undefined;
};
