/** Write times of a run's commits and deltas, from its items. */
import * as z from 'zod';
import type { RecordedCall } from '../lib/local/recorder.ts';

/** Attribute names of `lib/aws`: `at` is the time of a delta, `a` of a commit. */
const time = z.object({ N: z.coerce.number() });
const put = z.looseObject({
  Item: z.looseObject({
    pk: z.object({ S: z.string() }),
    sk: z.object({ S: z.string() }),
    at: time.optional(),
    a: time.optional(),
  }),
});

export interface Write {
  readonly runId: string;
  readonly kind: 'commit' | 'delta';
  readonly at: number;
}

/** Empty if the call is no such write or failed. */
export function writesIn({ service, operation, input, status }: RecordedCall): readonly Write[] {
  if (service !== 'dynamodb' || operation !== 'PutItem' || status !== 200) return [];
  const { pk, sk, at, a } = put.parse(input).Item;
  const kind = sk.S.startsWith('stream#') ? 'delta' : sk.S.startsWith('log#') ? 'commit' : undefined;
  if (kind === undefined) return [];
  return [{ runId: pk.S.slice(pk.S.lastIndexOf('#') + 1), kind, at: (kind === 'delta' ? at : a)?.N ?? Number.NaN }];
}

/** The maximum number in any second. */
export const maxPerSecond = (times: readonly number[]): number =>
  Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
