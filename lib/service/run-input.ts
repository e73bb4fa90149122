/** What a run was given, wherever it lies. */
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Head } from '../engine/log/head.ts';
import type { Deps } from './deps.ts';
import { load } from './payloads.ts';

export async function inputOf(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  { address, commit }: Pick<Head, 'address' | 'commit'>,
): Promise<JsonValue> {
  const given = commit.events.find((event) => event.type === 'INPUT_SET')?.input;
  invariant(given !== undefined, `the first commit of ${address.runId} says no input`);
  return 'ref' in given ? load(deps, address, given.ref) : given.value;
}
