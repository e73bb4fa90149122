/** When a run was written to, by what its items say themselves: its commits and what its nodes say. */
import * as z from 'zod';
import type { RecordedCall } from '../lib/local/recorder/recorder.ts';

/** Named as in `lib/aws`: `at` is a delta's time, `a` a commit's. */
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

/** None where the call is no such write, or was refused. */
export function writesIn({ service, operation, input, status }: RecordedCall): readonly Write[] {
  if (service !== 'dynamodb' || operation !== 'PutItem' || status !== 200) return [];
  const { pk, sk, at, a } = put.parse(input).Item;
  const kind = sk.S.startsWith('stream#') ? 'delta' : sk.S.startsWith('log#') ? 'commit' : undefined;
  if (kind === undefined) return [];
  return [{ runId: pk.S.slice(pk.S.lastIndexOf('#') + 1), kind, at: (kind === 'delta' ? at : a)?.N ?? Number.NaN }];
}

/** The most of them in any second. */
export const maxPerSecond = (times: readonly number[]): number =>
  Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
