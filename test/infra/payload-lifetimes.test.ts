/** The bucket's lifecycle rules and the tags of payloads, compared with the lifetimes of runs. */
import { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { S3Blobs } from '../../lib/aws/blobs.ts';
import { payloadLifetime } from '../../lib/aws/payload-objects.ts';
import { daysUntilDeletion, payloadLifetimeTag } from '../../lib/contract/payload-lifetimes.ts';
import { environment, projectId } from '../../lib/engine/ids.ts';
import { expiryOf, latestEndAfterDeadline } from '../../lib/engine/log/head.ts';
import { type Instant, after, days, durationMs, instant, minutes } from '../../lib/engine/time.ts';
import { startRecorder } from '../contract/emulators/recorder.ts';
import { testCredentials } from '../contract/emulators/dynamo.ts';
import { type LifecycleRule, deletedAt, lifecycleRules } from './lifecycle.ts';
import { ofType, synthesize } from './synthesized.ts';

const rulesFor = (settings: Parameters<typeof synthesize>[0] = {}): readonly LifecycleRule[] =>
  lifecycleRules(ofType(synthesize(settings).data, 'S3::Bucket')[0]?.Properties);
const rules = rulesFor();

const midnight = instant(Date.UTC(2026, 4, 1));
const timesOfDay = [0, 1, minutes(10), minutes(600) + 1, days(1) - minutes(10), days(1) - 1].map(durationMs);
const retentions = [1, 30, 364, 3_650];
/** days until the run may start, and from then to its deadline */
const terms = [
  { startsIn: 0, deadline: 1 },
  { startsIn: 0, deadline: 7 },
  { startsIn: 0, deadline: 365 },
  { startsIn: 365, deadline: 365 },
];
/** Time until the run's latest end. */
const partsOfLife = [0, 0.01, 0.2, 0.5, 0.77, 0.99, 1];
/** Clock difference between the worker and the bucket. */
const clocksDiffer = [-1, 0, 1].map((side) => side * minutes(10));

const payload = { key: 'payloads/default/prod/wrun_1/ab' };
const tagged = (lifetime: number) => ({ [payloadLifetimeTag]: String(lifetime) });

/** Errors in the deletion times of payloads, one message each. */
function faultsOf(given: readonly LifecycleRule[]): readonly string[] {
  const faults = new Set<string>();
  const judge = (name: string, expiresAt: Instant, writtenAt: Instant, createdAt: Instant): void => {
    const tags = tagged(payloadLifetime(expiresAt, writtenAt));
    const gone = deletedAt(given, { ...payload, tags, createdAt });
    const isDaily = expiresAt - createdAt <= days(728);
    const latest = after(expiresAt, days(isDaily ? daysUntilDeletion.daily : daysUntilDeletion.longer));
    if (gone === undefined || gone >= latest) faults.add(`${name}: kept too long`);
    else if (gone < expiresAt) faults.add(`${name}: deleted before the run expires`);
  };
  for (const retention of retentions) {
    for (const { startsIn, deadline } of terms) {
      for (const timeOfDay of timesOfDay) {
        const createdAt = after(midnight, timeOfDay);
        const deadlineAt = after(after(createdAt, days(startsIn)), days(deadline));
        const expiresAt = expiryOf({ createdAt, deadlineAt }, days(retention));
        const life = after(deadlineAt, latestEndAfterDeadline) - createdAt;
        for (const part of partsOfLife) {
          const writtenAt = after(createdAt, durationMs(Math.floor(life * part)));
          for (const differs of clocksDiffer)
            judge(
              `retention ${retention}, start in ${startsIn}, deadline ${deadline}`,
              expiresAt,
              writtenAt,
              instant(writtenAt + differs),
            );
        }
      }
    }
  }
  return [...faults].toSorted();
}

test('no payload is deleted before its run expires, and each within two days after (17 days beyond two years)', () => {
  expect(faultsOf(rules)).toEqual([]);
});

const without = (days: number) => rules.filter(({ Id }) => Id !== `payloads-${days}-days`);
const changed = (change: (rule: LifecycleRule) => LifecycleRule) =>
  rules.map((rule) => (rule.TagFilters.length > 0 ? change(rule) : rule));

const plants: readonly (readonly [what: string, planted: readonly LifecycleRule[], fault: string])[] = [
  ['a lifetime has no rule', without(37), 'kept too long'],
  ['a rule is a day short', changed((rule) => ({ ...rule, ExpirationInDays: (rule.ExpirationInDays ?? 0) - 1 })), 'before'],
  ['a rule is two days long', changed((rule) => ({ ...rule, ExpirationInDays: (rule.ExpirationInDays ?? 0) + 2 })), 'kept'],
  ['the rules are disabled', changed((rule) => ({ ...rule, Status: 'Disabled' })), 'kept too long'],
  ['the rules are of another prefix', changed((rule) => ({ ...rule, Prefix: 'values/' })), 'kept too long'],
  [
    'all payloads have one lifetime',
    rules.slice(1, 2).map((rule) => ({ ...rule, TagFilters: [], ExpirationInDays: 396 })),
    'before',
  ],
];
test.each(plants)('the check detects a template in which %s', (_what, planted, fault) => {
  expect(faultsOf(planted)).toEqual(expect.arrayContaining([expect.stringContaining(fault)]));
});

test('the rules fit the bucket’s limits: at most 1,000, with unique names', () => {
  expect(rules.length).toBeLessThanOrEqual(1_000);
  expect(new Set(rules.map(({ Id }) => Id)).size).toBe(rules.length);
});

test('another retention changes no lifecycle rule, so stored payloads are not affected', () => {
  expect(rulesFor({ retentionDays: 400 })).toEqual(rules);
});

test('a payload without a tag is deleted after the longest lifetime, and artifacts never', () => {
  const gone = deletedAt(rules, { ...payload, tags: {}, createdAt: midnight });
  const longest = Math.max(...rules.map(({ ExpirationInDays }) => ExpirationInDays ?? 0));
  expect(gone).toBe(after(midnight, days(longest + 1)));
  const archive = { key: 'artifacts/default/prod/dep_1/ab.tgz', tags: tagged(1), createdAt: midnight };
  expect(deletedAt(rules, archive)).toBeUndefined();
});

test('a payload is tagged with its lifetime at the time of its write', async () => {
  const recorder = await startRecorder(() => ({ status: 200, body: {} }));
  const client = new S3Client({
    endpoint: recorder.endpoint,
    region: 'eu-central-1',
    credentials: testCredentials,
    forcePathStyle: true,
  });
  const scope = { projectId: projectId('default'), environment: environment('prod') };
  const expiresAt = after(midnight, days(38));
  for (const passed of [days(0), days(7), days(37)]) {
    const blobs = new S3Blobs(client, 'bucket', { now: () => after(midnight, durationMs(passed + minutes(60))) });
    await blobs.put(scope, 'wrun_1/ab', 1, expiresAt);
  }
  expect(recorder.requests.map(({ headers }) => headers['x-amz-tagging'])).toEqual(
    [37, 30, 1].map((lifetime) => `${payloadLifetimeTag}=${lifetime}`),
  );
  client.destroy();
  await recorder.close();
});
