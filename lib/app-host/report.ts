/** The response of the diagnostics endpoint, and the rules for its status. */
import * as z from 'zod';
import type { HostFacts } from './environment.ts';
import type { HitCounts } from './hit-store.ts';

const dateTime = z.string().meta({ format: 'date-time' });

/** Unknown fields are accepted: the application may have a newer or older version. */
export const ownershipReport = z.looseObject({
  remoteModeEnabled: z.boolean(),
  strictMode: z.boolean(),
  targetWorld: z.string().nullable(),
  expectedTargetWorld: z.string(),
  status: z.enum(['pass', 'warn', 'fail']),
  lifetimeUnexpectedHits: z.int(),
  unexpectedHitsLast15m: z.int(),
  lastUnexpectedHitAt: dateTime.nullable(),
  lastEvent: z
    .looseObject({ at: dateTime, path: z.string(), markerHeaders: z.array(z.string()), bodyShapeMatched: z.boolean() })
    .nullable()
    .optional(),
});
export type OwnershipReport = z.output<typeof ownershipReport>;

/** Where runs execute in the application, no hit is unexpected. Hits of an earlier time are still a warning. */
export const statusOf = (
  { isRemote, isProduction, targetWorld, expectedTargetWorld }: Omit<HostFacts, 'diagnosticsToken'>,
  { lifetime, recent }: Pick<HitCounts, 'lifetime' | 'recent'>,
): OwnershipReport['status'] => {
  const isWrong = isRemote && (recent > 0 || targetWorld !== expectedTargetWorld);
  if (isWrong) return isProduction ? 'fail' : 'warn';
  return lifetime > 0 ? 'warn' : 'pass';
};

export const reportOf = (facts: HostFacts, counts: HitCounts): OwnershipReport => {
  const { isRemote, isProduction, targetWorld, expectedTargetWorld } = facts;
  const { lifetime, recent, last } = counts;
  const at = last === null ? null : new Date(last.at).toISOString();
  return {
    remoteModeEnabled: isRemote,
    strictMode: isRemote && isProduction,
    targetWorld,
    expectedTargetWorld,
    status: statusOf(facts, counts),
    lifetimeUnexpectedHits: lifetime,
    unexpectedHitsLast15m: recent,
    lastUnexpectedHitAt: at,
    lastEvent:
      last === null || at === null
        ? null
        : { at, path: last.path, markerHeaders: [...last.markerHeaders], bodyShapeMatched: last.bodyShapeMatched },
  };
};
