/** The function that CloudFormation asks for keys: what it makes and registers, what it says, and what it never says. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { type ResourceEventDeps, handleResourceEvent } from '../../functions/first-key/handle-resource-event.ts';
import { parseKey } from '../../lib/api/auth.ts';
import { environment, keyId, projectId } from '../../lib/engine/ids.ts';
import { minuteOf } from '../../lib/engine/log/heartbeat-timeout.ts';
import { days } from '../../lib/engine/time.ts';
import { MemorySecrets } from '../../lib/memory/secrets.ts';
import { MemoryStoredSettings } from '../../lib/memory/stored-settings.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import type { ApiKey } from '../../lib/ports/control.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';

const arnOf = (name: string): string => `arn:aws:secretsmanager:eu-west-1:111122223333:secret:${name}-AbCdEf`;
const firstArn = arnOf('first');
const scope = { projectId: projectId('default'), environment: environment('production') };

/** CloudFormation's side: an address that takes one answer after the other. */
const answers: unknown[] = [];
let url = '';
const server = createServer((request, response) => {
  void text(request).then((body) => {
    answers.push({ contentType: request.headers['content-type'], body: JSON.parse(body) });
    response.writeHead(200).end();
  });
});
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = z.object({ port: z.number() }).parse(server.address());
  url = `http://127.0.0.1:${address.port}/answer`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const answerShape = z.object({
  contentType: z.undefined(),
  body: z.strictObject({
    Status: z.enum(['SUCCESS', 'FAILED']),
    Reason: z.string().exactOptional(),
    StackId: z.literal('stack'),
    RequestId: z.literal('request'),
    LogicalResourceId: z.literal('Keys'),
    PhysicalResourceId: z.literal('stepwell-keys'),
    NoEcho: z.literal(true),
  }),
});

const installation = () => {
  const { keys, clock, index } = memoryPorts();
  const secrets = new MemorySecrets();
  const settings = new MemoryStoredSettings();
  secrets.create(firstArn);
  const logged: unknown[] = [];
  const log = (...said: readonly unknown[]): void => void logged.push(said);
  const taker: ResourceEventDeps = {
    ports: { keys, clock, index, secrets, settings },
    logger: { info: log, warn: log, error: log },
    sleep: async () => undefined,
  };
  const propertiesOf = (seeds: readonly object[], first: object, stored: readonly object[] = []) => ({
    ServiceToken: 'arn',
    SecretArn: firstArn,
    FirstKey: JSON.stringify({ projectId: 'default', environment: 'production', ...first }),
    SeedKeys: JSON.stringify(seeds),
    Settings: JSON.stringify(stored),
  });
  const ask = async (
    type: string,
    seeds: readonly object[] = [],
    {
      old,
      first = {},
      stored,
      oldStored,
    }: { old?: readonly object[]; first?: object; stored?: readonly object[]; oldStored?: readonly object[] } = {},
  ) => {
    await handleResourceEvent(taker, {
      RequestType: type,
      ResponseURL: url,
      StackId: 'stack',
      RequestId: 'request',
      LogicalResourceId: 'Keys',
      ResourceProperties: propertiesOf(seeds, first, stored),
      ...(old === undefined ? {} : { OldResourceProperties: propertiesOf(old, first, oldStored) }),
    });
    const { Status, Reason } = answerShape.parse(answers.at(-1)).body;
    return Reason === undefined ? Status : `${Status}: ${Reason}`;
  };
  const textOf = async (): Promise<string> => (await secrets.value(firstArn)) ?? '';
  return { keys, clock, index, secrets, settings, logged, taker, ask, textOf, propertiesOf };
};
const firstOf = async ({ keys, textOf }: ReturnType<typeof installation>): Promise<ApiKey | undefined> => {
  const parsed = parseKey(await textOf());
  return parsed && keys.key(parsed.keyId);
};

test('keys of applications are created in their secrets once, with their scopes alone', async () => {
  const here = installation();
  const secretArn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:TriggerKey-AbCdEf';
  here.secrets.create(secretArn);
  const request = async () => {
    const keys = JSON.stringify([{ secretArn, scopes: ['trigger:write', 'runs:read'] }]);
    await handleResourceEvent(here.taker, {
      RequestType: 'Create',
      ResponseURL: url,
      StackId: 'stack',
      RequestId: 'request',
      LogicalResourceId: 'Keys',
      ResourceProperties: { ...here.propertiesOf([], {}), ApplicationKeys: keys },
    });
    return (await here.secrets.value(secretArn)) ?? '';
  };
  const text = await request();
  const parsed = parseKey(text);
  expect(parsed && (await here.keys.key(parsed.keyId))).toMatchObject({ ...scope, scopes: ['trigger:write', 'runs:read'] });
  expect(await request()).toBe(text);
  expect(JSON.stringify(here.logged)).not.toContain(text);
});

test('grants of an identity provider get keys without a secret, and a removed grant loses its key', async () => {
  const here = installation();
  const grant = { keyId: 'platformteam', projectId: 'default', environment: 'production', scopes: ['runs:read'] };
  const change = async (now: readonly object[], old: readonly object[]) => {
    const propertiesWith = (grants: readonly object[]) => ({ ...here.propertiesOf([], {}), SignInKeys: JSON.stringify(grants) });
    await handleResourceEvent(here.taker, {
      RequestType: 'Update',
      ResponseURL: url,
      StackId: 'stack',
      RequestId: 'request',
      LogicalResourceId: 'Keys',
      ResourceProperties: propertiesWith(now),
      OldResourceProperties: propertiesWith(old),
    });
    expect(answerShape.parse(answers.at(-1)).body.Status).toBe('SUCCESS');
    return here.keys.key(keyId('platformteam'));
  };
  expect(await change([grant], [])).toMatchObject({ ...scope, scopes: ['runs:read'], secretHash: '0'.repeat(64) });
  const wider = { ...grant, scopes: ['admin'] };
  expect(await change([wider], [grant])).toMatchObject({ scopes: ['admin'] });
  expect(await change([], [wider])).toMatchObject({ revokedAt: here.clock.now() });
});

describe('sweeping', () => {
  test('the sweep starts at the creation of the installation, and a later request does not move it', async () => {
    const here = installation();
    const made = minuteOf(here.clock.now());
    await here.ask('Create');
    expect(await here.index.sweptMinute()).toBe(made - 1);
    here.clock.advance(days(1));
    await here.ask('Update', [], { old: [] });
    expect(await here.index.sweptMinute()).toBe(made - 1);
  });
});

describe('large settings', () => {
  const of = (version: string) => ({ name: 'webhooks', version, text: `{"version":${version}}` });
  const versionsIn = async ({ settings }: ReturnType<typeof installation>) =>
    (await settings.versions('webhooks')).filter(({ expiresAt }) => expiresAt === undefined).map(({ version }) => version);

  test('are stored before the response, and the previous version stays', async () => {
    const here = installation();
    expect(await here.ask('Create', [], { stored: [of('1')] })).toBe('SUCCESS');
    expect(await here.settings.text(of('1'))).toBe('{"version":1}');
    expect(await here.ask('Update', [], { old: [], stored: [of('2')], oldStored: [of('1')] })).toBe('SUCCESS');
    expect(await versionsIn(here)).toEqual(['1', '2']);
    expect(await here.ask('Update', [], { old: [], stored: [of('3')], oldStored: [of('2')] })).toBe('SUCCESS');
    expect(await versionsIn(here)).toEqual(['2', '3']);
  });

  test('that no function reads are refused', async () => {
    const here = installation();
    expect(await here.ask('Create', [], { stored: [{ ...of('1'), name: 'other' }] })).toMatch(/^FAILED/);
  });
});

describe('the first key', () => {
  test('is written to its secret and registered by its digest, and appears nowhere else', async () => {
    const here = installation();
    expect(await here.ask('Create')).toBe('SUCCESS');
    const key = await here.textOf();
    expect(key).toMatch(/^sw_production_/);
    expect(await firstOf(here)).toEqual({
      keyId: parseKey(key)?.keyId,
      secretHash: parseKey(key)?.secretHash,
      ...scope,
      scopes: ['admin'],
      createdAt: here.clock.now(),
    });
    const [, , , tail = ''] = key.split('_');
    expect(JSON.stringify([here.logged, answers])).not.toContain(tail);
  });

  test('has the project, the environment and the limit that are set', async () => {
    const here = installation();
    await here.ask('Create', [], { first: { projectId: 'acme', environment: 'staging', rateLimitPerMinute: 'none' } });
    expect(await firstOf(here)).toMatchObject({ projectId: 'acme', environment: 'staging', rateLimitPerMinute: null });
  });

  test.each(['Create', 'Update', 'Delete'])('stays what it is when %s comes later', async (type) => {
    const here = installation();
    await here.ask('Create');
    const [key, stored] = [await here.textOf(), await firstOf(here)];
    here.clock.advance(days(1));
    expect(await here.ask(type, [], { old: [], first: { environment: 'other' } })).toBe('SUCCESS');
    expect([await here.textOf(), await firstOf(here)]).toEqual([key, stored]);
    expect((await here.keys.listKeys(scope, { limit: 9 })).keys).toHaveLength(1);
  });

  test('that was revoked stays revoked', async () => {
    const here = installation();
    await here.ask('Create');
    const key = await firstOf(here);
    if (key === undefined) throw new Error('no key');
    await here.keys.revokeKey(key, key.keyId, here.clock.now());
    await here.ask('Update', [], { old: [] });
    expect((await firstOf(here))?.revokedAt).toBe(here.clock.now());
  });

  test('whose registration failed after the secret is registered by the next deployment', async () => {
    const here = installation();
    const putKey = here.keys.putKey.bind(here.keys);
    here.keys.putKey = () => Promise.reject(new Unavailable('the table'));
    expect(await here.ask('Create')).toMatch(/^FAILED: An AWS service is unavailable/);
    const key = await here.textOf();
    here.keys.putKey = putKey;
    expect(await here.ask('Create')).toBe('SUCCESS');
    expect([await here.textOf(), (await firstOf(here))?.scopes]).toEqual([key, ['admin']]);
  });

  test('is not registered where the secret holds something else, which is not repeated', async () => {
    const here = installation();
    await here.secrets.setValue(firstArn, 'hunter2');
    expect(await here.ask('Create')).toBe(
      `FAILED: the secret ${firstArn} does not contain a valid API key: delete its value or store a valid key, then deploy again`,
    );
  });

  test('a denied request of a new role is retried; any other error is reported by its name only', async () => {
    const here = installation();
    const value = here.secrets.value.bind(here.secrets);
    let denials = 3;
    here.secrets.value = (arn) =>
      denials-- > 0 ? Promise.reject(Object.assign(new Error('not authorized'), { name: 'AccessDeniedException' })) : value(arn);
    expect(await here.ask('Create')).toBe('SUCCESS');
    here.secrets.value = () => Promise.reject(new TypeError('sw_production_x'));
    expect(await here.ask('Update', [], { old: [] })).toBe('FAILED: the keys and settings could not be written: TypeError');
  });
});

describe('keys of the configuration', () => {
  const seed = (id: string, more: object = {}) => ({
    keyId: id,
    ...scope,
    scopes: ['deploy:write'],
    sha256: id.padEnd(64, '0').replaceAll(/[^0-9a-f]/g, '1'),
    ...more,
  });
  const seeded = ({ keys }: ReturnType<typeof installation>, id: string) => keys.key(keyId(id));

  test('are registered with their terms', async () => {
    const here = installation();
    const terms = { expiresAt: '2027-01-01T00:00:00Z', rateLimitPerMinute: 7 };
    expect(await here.ask('Create', [seed('seedkey01', terms), seed('seedkey02')])).toBe('SUCCESS');
    expect(await seeded(here, 'seedkey01')).toEqual({
      keyId: 'seedkey01',
      ...scope,
      scopes: ['deploy:write'],
      secretHash: seed('seedkey01').sha256,
      createdAt: here.clock.now(),
      expiresAt: Date.parse(terms.expiresAt),
      rateLimitPerMinute: 7,
    });
  });

  test('follow the list: other terms are taken over, and what is gone is revoked', async () => {
    const here = installation();
    const before = [seed('seedkey01', { rateLimitPerMinute: 7 }), seed('seedkey02')];
    await here.ask('Create', before);
    expect(await here.ask('Update', [seed('seedkey01', { scopes: ['admin'] })], { old: before })).toBe('SUCCESS');
    const [changed, gone] = [await seeded(here, 'seedkey01'), await seeded(here, 'seedkey02')];
    expect([changed?.scopes, changed?.rateLimitPerMinute, changed?.revokedAt]).toEqual([['admin'], undefined, undefined]);
    expect(gone?.revokedAt).toBe(here.clock.now());
  });

  test('stay revoked when they return to the list, and the log says so', async () => {
    const here = installation();
    await here.ask('Create', [seed('seedkey01')]);
    await here.ask('Update', [], { old: [seed('seedkey01')] });
    expect(await here.ask('Update', [seed('seedkey01')], { old: [] })).toBe('SUCCESS');
    expect((await seeded(here, 'seedkey01'))?.revokedAt).toBe(here.clock.now());
    expect(JSON.stringify(here.logged.at(-1))).toContain('"retired":["seedkey01"]');
  });

  test('outlive the stack', async () => {
    const here = installation();
    await here.ask('Create', [seed('seedkey01')]);
    expect(await here.ask('Delete', [seed('seedkey01')])).toBe('SUCCESS');
    expect((await seeded(here, 'seedkey01'))?.revokedAt).toBeUndefined();
  });

  test('a key id with another secret is refused before anything is changed', async () => {
    const here = installation();
    const before = [seed('seedkey01'), seed('seedkey02')];
    await here.ask('Create', before);
    const swapped = seed('seedkey01', { sha256: 'f'.repeat(64) });
    expect(await here.ask('Update', [seed('seedkey03'), swapped], { old: before })).toBe(
      'FAILED: the key id seedkey01 belongs to another key: choose a new keyId for a new secret',
    );
    expect([await seeded(here, 'seedkey03'), (await seeded(here, 'seedkey02'))?.revokedAt]).toEqual([undefined, undefined]);
  });

  test('are registered from the secret that holds them', async () => {
    const [maker, here] = [installation(), installation()];
    await maker.ask('Create');
    const text = await maker.textOf();
    const id = parseKey(text)?.keyId ?? '';
    here.secrets.create(arnOf('ci'), `${text}\n`);
    const { sha256: _sha256, ...bySecret } = seed(id, { secretArn: arnOf('ci') });
    expect(await here.ask('Create', [bySecret])).toBe('SUCCESS');
    expect((await seeded(here, id))?.secretHash).toBe(parseKey(text)?.secretHash);
    const other = { ...bySecret, keyId: 'another001' };
    expect(await here.ask('Update', [other], { old: [bySecret] })).toBe(
      `FAILED: the secret ${arnOf('ci')} contains another key than another001 of production`,
    );
    here.secrets.create(arnOf('ci'), text.slice(0, -1));
    expect(await here.ask('Update', [bySecret], { old: [bySecret] })).toBe(
      `FAILED: the secret ${arnOf('ci')} does not contain an API key`,
    );
    here.secrets.create(arnOf('ci'));
    expect(await here.ask('Update', [bySecret], { old: [bySecret] })).toBe(`FAILED: the secret ${arnOf('ci')} has no text`);
    expect((await seeded(here, id))?.revokedAt).toBeUndefined();
  });
});

test('an invalid request of CloudFormation gets a response', async () => {
  const here = installation();
  await handleResourceEvent(here.taker, {
    RequestType: 'Create',
    ResponseURL: url,
    StackId: 'stack',
    RequestId: 'request',
    LogicalResourceId: 'Keys',
    ResourceProperties: { SeedKeys: 'not json' },
  });
  expect(answerShape.parse(answers.at(-1)).body.Status).toBe('FAILED');
});
