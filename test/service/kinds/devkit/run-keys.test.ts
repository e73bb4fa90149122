/** The keys of runs: how they are derived, and what a rotation changes. */
import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type RunAddress, environment, projectId, runId } from '../../../../lib/engine/ids.ts';
import { after, minutes, seconds } from '../../../../lib/engine/time.ts';
import { MemoryClock } from '../../../../lib/memory/clock.ts';
import type { Secrets } from '../../../../lib/ports/secrets.ts';
import { keyOfRun } from '../../../../lib/service/kinds/devkit/run-keys.ts';
import { encryptionKey } from '../../../../lib/service/kinds/devkit/encryption-key.ts';
import { SecretCache } from '../../../../lib/service/access/secret-cache.ts';
import { noon } from '../../../contract/samples.ts';

const secretArn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:runs-AbCdEf';
const [first, second] = ['a'.repeat(32), 'b'.repeat(32)];
/** of 2026-11-25T00:00:00Z and a second later */
const [early, late] = ['wrun_01KANQ2E0000000000000000AA', 'wrun_01KANQ2F0800000000000000AA'];
const run: RunAddress = { projectId: projectId('shop'), environment: environment('production'), runId: runId(early) };

const sourceOf = (text: string | undefined) => {
  const reads: string[] = [];
  const current = { text };
  const secrets: Secrets = {
    value: async (arn) => (reads.push(arn), current.text),
    setValue: async () => {},
  };
  const clock = new MemoryClock(noon);
  return { reads, clock, current, source: { secretArn, secrets: new SecretCache(secrets, clock) } };
};

const keyFrom = async (text: string | undefined, of: RunAddress = run) => {
  const found = await keyOfRun(sourceOf(text).source, of);
  return found.kind === 'key' ? Buffer.from(found.key).toString('hex') : found;
};

/** HKDF of RFC 5869 with one block, as the standard writes it. */
const derived = (secret: string, info: string): string => {
  const key = createHmac('sha256', Buffer.alloc(32)).update(secret).digest();
  return createHmac('sha256', key)
    .update(info)
    .update(Buffer.from([1]))
    .digest('hex');
};

describe('the key of a run', () => {
  test('is HKDF-SHA256 of the secret with the project, the environment and the run', async () => {
    expect(await keyFrom(first)).toBe(derived(first, `shop|production|${early}`));
  });

  test('is another one for each run, environment, project and secret', async () => {
    const others = await Promise.all([
      keyFrom(first),
      keyFrom(second),
      keyFrom(first, { ...run, runId: runId(late) }),
      keyFrom(first, { ...run, environment: environment('staging') }),
      keyFrom(first, { ...run, projectId: projectId('other') }),
    ]);
    expect(new Set(others).size).toBe(5);
  });

  test('is read from the secret at its first use, and not again within five minutes', async () => {
    const { source, reads, clock } = sourceOf(first);
    expect(reads).toEqual([]);
    for (let count = 0; count < 2; count += 1) await keyOfRun(source, run);
    expect(reads).toEqual([secretArn]);
    clock.set(after(noon, minutes(6)));
    await keyOfRun(source, run);
    expect(reads).toHaveLength(2);
  });

  test('is absent where the setting is off', async () => {
    expect(await keyOfRun(undefined, run)).toEqual({ kind: 'off' });
  });
});

describe('a list of secrets', () => {
  const list = (from: string) => JSON.stringify([{ secret: first }, { secret: second, from }]);

  test('has the first one for older runs, and the later one from its time on', async () => {
    const lateRun = { ...run, runId: runId(late) };
    expect(await keyFrom(list(timeOf(late)))).toBe(await keyFrom(first));
    expect(await keyFrom(list(timeOf(late)), lateRun)).toBe(await keyFrom(second, lateRun));
    expect(await keyFrom(list(timeOf(early)))).toBe(await keyFrom(second));
  });

  test('of later times alone has no secret for older runs', async () => {
    const text = JSON.stringify([{ secret: second, from: timeOf(late) }]);
    expect(await keyFrom(text)).toMatchObject({ kind: 'unusable', reason: expect.stringContaining('no entry for runs') });
  });
});

/** The time in the first ten digits of a ULID. */
const timeOf = (id: string): string => {
  const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  let ms = 0;
  for (const digit of id.slice(5, 15)) ms = ms * 32 + digits.indexOf(digit);
  return new Date(ms).toISOString();
};

describe('the World answers', () => {
  const { projectId: project, environment: env, runId: id } = run;
  const scope = { projectId: project, environment: env };

  test('the key of a run that may not exist yet, or no key', async () => {
    const answer = await encryptionKey({ runKeys: sourceOf(first).source }, scope, id);
    const expected = Buffer.from(derived(first, `shop|production|${early}`), 'hex').toString('base64');
    expect(answer).toEqual({ kind: 'answered', value: { key: { $bytes: expected } } });
    expect(await encryptionKey({}, scope, id)).toEqual({ kind: 'answered', value: { key: null } });
  });

  test('a refusal for what is no run, and one that can be repeated while the secret is unusable', async () => {
    expect(await encryptionKey({ runKeys: sourceOf(first).source }, scope, 'run')).toMatchObject({ code: 'run_not_found' });
    expect(await encryptionKey({ runKeys: sourceOf(undefined).source }, scope, id)).toMatchObject({ code: 'unavailable' });
  });
});

test.each([
  ['no text', undefined],
  ['a short text', 'short'],
  ['an empty list', '[]'],
  ['a short secret in a list', '[{"secret":"short"}]'],
  ['a wrong time', JSON.stringify([{ secret: first, from: 'tomorrow' }])],
])('%s is unusable, and the reason does not quote it', async (_case, text) => {
  const found = await keyFrom(text);
  expect(found).toMatchObject({ kind: 'unusable', reason: expect.stringContaining('devKitSecretArn') });
  expect(JSON.stringify(found)).not.toMatch(/short|tomorrow|aaaa/);
});

test('the times of both ids are a second apart', () => {
  expect(Date.parse(timeOf(late)) - Date.parse(timeOf(early))).toBeGreaterThanOrEqual(seconds(1));
});
