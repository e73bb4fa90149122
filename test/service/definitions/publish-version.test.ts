import { expect, test } from 'vitest';
import { environment, projectId, queryName } from '../../../lib/engine/ids.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { memoryPorts } from '../../../lib/memory/memory-ports.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { archiveName } from '../../../lib/service/definitions/archive-name.ts';
import { createQuery, publishQueryVersion } from '../../../lib/service/definitions/publish-query.ts';

const scope = { projectId: projectId('acme'), environment: environment('test') };
const name = queryName('find');
const common = { name, parameters: [], maxBytes: 1_000, timeoutMs: seconds(1) };
const request = { method: 'GET', path: '/', query: {}, headers: {}, body: null } as const;
const http = { ...common, kind: 'http', connection: 'https://example.com', request } as const;
const postgres = { ...common, kind: 'postgres', connection: 'db', statement: 'select 1' } as const;

test('a version whose publisher died before its summary gets one from the next, as that version is', async () => {
  const world = memoryPorts();
  await world.queries.putVersion(scope, { ...http, version: 1 }, world.clock.now());
  expect(await createQuery(world, scope, postgres)).toEqual({ kind: 'exists' });
  expect(await world.queries.summary(scope, name)).toMatchObject({ latestVersion: 1, kind: 'http' });
});

test('numbers that others have taken meanwhile are passed over, and after twenty of them the caller is to come again', async () => {
  const world = memoryPorts();
  await createQuery(world, scope, http);
  for (let version = 2; version <= 20; version += 1)
    await world.queries.putVersion(scope, { ...http, version }, world.clock.now());
  expect(await publishQueryVersion(world, scope, postgres)).toMatchObject({ kind: 'published', version: 21 });
  expect(await world.queries.summary(scope, name)).toMatchObject({ latestVersion: 21, kind: 'postgres' });
  for (let version = 22; version <= 41; version += 1)
    await world.queries.putVersion(scope, { ...http, version }, world.clock.now());
  await expect(publishQueryVersion(world, scope, postgres)).rejects.toThrow(Unavailable);
});

test('publishing a version unarchives the name: numbers continue, and earlier versions stay', async () => {
  const world = memoryPorts();
  await createQuery(world, scope, http);
  expect(await archiveName({ store: world.queries, clock: world.clock }, scope, name)).toMatchObject({ kind: 'archived' });
  expect(await createQuery(world, scope, postgres)).toEqual({ kind: 'exists' });
  expect(await publishQueryVersion(world, scope, postgres)).toMatchObject({ kind: 'published', version: 2, unarchived: true });
  expect(await world.queries.summary(scope, name)).not.toHaveProperty('archivedAt');
  expect(await world.queries.version(scope, name, 1)).toMatchObject({ kind: 'http' });
  expect(await publishQueryVersion(world, scope, http)).not.toHaveProperty('unarchived');
});

test('a name that is archived while a version is being published stays archived', async () => {
  const world = memoryPorts();
  await createQuery(world, scope, http);
  const put = world.queries.putVersion.bind(world.queries);
  world.queries.putVersion = async (...given) => {
    const result = await put(...given);
    await archiveName({ store: world.queries, clock: world.clock }, scope, name);
    return result;
  };
  expect(await publishQueryVersion(world, scope, postgres)).not.toHaveProperty('unarchived');
  expect(await world.queries.summary(scope, name)).toMatchObject({ latestVersion: 2, archivedAt: world.clock.now() });
});

test('a name is opened also where a publisher that had looked before it was archived has a later number', async () => {
  const world = memoryPorts();
  await createQuery(world, scope, http);
  const put = world.queries.putVersion.bind(world.queries);
  const reached = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  let isFirst = true;
  world.queries.putVersion = async (...given) => {
    if (!isFirst) return put(...given);
    isFirst = false;
    reached.resolve();
    await goesOn.promise;
    return put(...given);
  };
  const earlier = publishQueryVersion(world, scope, http);
  await reached.promise;
  await archiveName({ store: world.queries, clock: world.clock }, scope, name);
  const advance = world.queries.advance.bind(world.queries);
  world.queries.advance = async (...given) => {
    world.queries.advance = advance;
    goesOn.resolve();
    expect(await earlier).toMatchObject({ kind: 'published', version: 3 });
    return advance(...given);
  };
  expect(await publishQueryVersion(world, scope, postgres)).toMatchObject({ kind: 'published', version: 4, unarchived: true });
  const summary = await world.queries.summary(scope, name);
  expect(summary).toMatchObject({ latestVersion: 4, kind: 'postgres' });
  expect(summary).not.toHaveProperty('archivedAt');
});
