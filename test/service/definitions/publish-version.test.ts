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

test('the next publication completes the summary of a version whose publisher died', async () => {
  const ports = memoryPorts();
  await ports.queries.putVersion(scope, { ...http, version: 1 }, ports.clock.now());
  expect(await createQuery(ports, scope, postgres)).toEqual({ kind: 'exists' });
  expect(await ports.queries.summary(scope, name)).toMatchObject({ latestVersion: 1, kind: 'http' });
});

test('numbers that concurrent publishers took are skipped, and after twenty the request is unavailable', async () => {
  const ports = memoryPorts();
  await createQuery(ports, scope, http);
  for (let version = 2; version <= 20; version += 1)
    await ports.queries.putVersion(scope, { ...http, version }, ports.clock.now());
  expect(await publishQueryVersion(ports, scope, postgres)).toMatchObject({ kind: 'published', version: 21 });
  expect(await ports.queries.summary(scope, name)).toMatchObject({ latestVersion: 21, kind: 'postgres' });
  for (let version = 22; version <= 41; version += 1)
    await ports.queries.putVersion(scope, { ...http, version }, ports.clock.now());
  await expect(publishQueryVersion(ports, scope, postgres)).rejects.toThrow(Unavailable);
});

test('publishing a version unarchives the name: numbers continue, and earlier versions stay', async () => {
  const ports = memoryPorts();
  await createQuery(ports, scope, http);
  expect(await archiveName({ store: ports.queries, clock: ports.clock }, scope, name)).toMatchObject({ kind: 'archived' });
  expect(await createQuery(ports, scope, postgres)).toEqual({ kind: 'exists' });
  expect(await publishQueryVersion(ports, scope, postgres)).toMatchObject({ kind: 'published', version: 2, unarchived: true });
  expect(await ports.queries.summary(scope, name)).not.toHaveProperty('archivedAt');
  expect(await ports.queries.version(scope, name, 1)).toMatchObject({ kind: 'http' });
  expect(await publishQueryVersion(ports, scope, http)).not.toHaveProperty('unarchived');
});

test('a name that is archived while a version is being published stays archived', async () => {
  const ports = memoryPorts();
  await createQuery(ports, scope, http);
  const put = ports.queries.putVersion.bind(ports.queries);
  ports.queries.putVersion = async (...given) => {
    const result = await put(...given);
    await archiveName({ store: ports.queries, clock: ports.clock }, scope, name);
    return result;
  };
  expect(await publishQueryVersion(ports, scope, postgres)).not.toHaveProperty('unarchived');
  expect(await ports.queries.summary(scope, name)).toMatchObject({ latestVersion: 2, archivedAt: ports.clock.now() });
});

test('a name is unarchived even if a publisher that read it before the archiving takes a later number', async () => {
  const ports = memoryPorts();
  await createQuery(ports, scope, http);
  const put = ports.queries.putVersion.bind(ports.queries);
  const reached = Promise.withResolvers<void>();
  const continued = Promise.withResolvers<void>();
  let isFirst = true;
  ports.queries.putVersion = async (...given) => {
    if (!isFirst) return put(...given);
    isFirst = false;
    reached.resolve();
    await continued.promise;
    return put(...given);
  };
  const earlier = publishQueryVersion(ports, scope, http);
  await reached.promise;
  await archiveName({ store: ports.queries, clock: ports.clock }, scope, name);
  const advance = ports.queries.advance.bind(ports.queries);
  ports.queries.advance = async (...given) => {
    ports.queries.advance = advance;
    continued.resolve();
    expect(await earlier).toMatchObject({ kind: 'published', version: 3 });
    return advance(...given);
  };
  expect(await publishQueryVersion(ports, scope, postgres)).toMatchObject({ kind: 'published', version: 4, unarchived: true });
  const summary = await ports.queries.summary(scope, name);
  expect(summary).toMatchObject({ latestVersion: 4, kind: 'postgres' });
  expect(summary).not.toHaveProperty('archivedAt');
});
