/** The code asks for something else than it did when its history was written. */
import type { HistoryEntry } from '../engine/durable/turn.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { DriveEnd } from '../ports/programs.ts';
import type { Ask } from './ask.ts';

type Recorded = Extract<HistoryEntry<JsonValue>, { kind: 'asked' }>;
type AskedNow = Pick<Ask, 'key' | 'kind' | 'target'>;

export const isSame = (recorded: Recorded, now: AskedNow): boolean =>
  recorded.key === now.key && recorded.step === now.kind && recorded.target === now.target;

/** @param now what the code did instead: it asked for this, it ended, or it did nothing for so long */
export function diverged(
  deploymentId: string,
  /** which of the steps that were asked for, from 1 */
  position: number,
  recorded: Recorded,
  now: AskedNow | 'returned' | 'threw' | { readonly waitedMs: number },
): DriveEnd {
  const before = { key: recorded.key, kind: recorded.step, target: recorded.target };
  const spelledBefore = spelled(before);
  return {
    kind: 'diverged',
    message: `step ${position} of this run is ${spelledBefore}, and the code of deployment ${deploymentId} ${instead(now)}`,
    details: {
      deploymentId,
      position,
      recorded: asRecord(before),
      asked: typeof now === 'object' && 'key' in now ? asRecord(now) : null,
    },
  };
}

function instead(now: Parameters<typeof diverged>[3]): string {
  if (now === 'returned') return 'returns before it asks for it';
  if (now === 'threw') return 'throws before it asks for it';
  return 'waitedMs' in now ? `did not ask for it within ${now.waitedMs} ms` : `asks for ${spelled(now)}`;
}

const asRecord = ({
  key,
  kind,
  target,
}: {
  readonly key: string;
  readonly kind: string;
  readonly target?: string | undefined;
}): JsonObject => ({
  key,
  kind,
  ...(target === undefined ? {} : { target }),
});

const spelled = ({ key, kind, target }: Parameters<typeof asRecord>[0]): string =>
  `${kind} ${JSON.stringify(key)}${target === undefined ? '' : ` (${target})`}`;
