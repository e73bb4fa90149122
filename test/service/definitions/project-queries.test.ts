import { beforeEach, expect, test } from 'vitest';
import { environment, projectId, queryName } from '../../../lib/engine/ids.ts';
import { seconds } from '../../../lib/engine/time.ts';
import { memoryPorts } from '../../../lib/memory/memory-ports.ts';
import { archiveName } from '../../../lib/service/definitions/archive-name.ts';
import { ProjectQueries } from '../../../lib/service/definitions/project-queries.ts';
import { createQuery, publishQueryVersion } from '../../../lib/service/definitions/publish-query.ts';

const acme = { projectId: projectId('acme'), environment: environment('test') };
const name = queryName('find');
const draft = (statement: string) =>
  ({ name, kind: 'postgres', connection: 'db', statement, parameters: [], maxBytes: 1_000, timeoutMs: seconds(1) }) as const;

let ports: ReturnType<typeof memoryPorts>;
let queries: ProjectQueries;
beforeEach(async () => {
  ports = memoryPorts();
  queries = new ProjectQueries(ports);
  await createQuery(ports, acme, draft('select 1'));
});

test('without a number the latest version is used, a named version stays', async () => {
  expect(await queries.of(acme, name)).toMatchObject({ query: { version: 1, statement: 'select 1' } });
  await publishQueryVersion(ports, acme, draft('select 2'));
  expect(await queries.of(acme, name)).toMatchObject({ query: { version: 2, statement: 'select 2' } });
  expect(await queries.of(acme, name, 1)).toMatchObject({ query: { version: 1, statement: 'select 1' } });
});

test('an archived query is refused, even if a version is cached', async () => {
  await queries.of(acme, name, 1);
  await archiveName({ ...ports, store: ports.queries }, acme, name);
  expect([await queries.of(acme, name, 1), await queries.of(acme, name)]).toEqual([{ kind: 'archived' }, { kind: 'archived' }]);
});

test('a query of another project, another name or a missing version is unknown', async () => {
  await queries.of(acme, name);
  expect(await queries.of({ ...acme, projectId: projectId('rival') }, name)).toEqual({ kind: 'unknown' });
  expect(await queries.of({ ...acme, environment: environment('live') }, name)).toEqual({ kind: 'unknown' });
  expect(await queries.of(acme, queryName('other'))).toEqual({ kind: 'unknown' });
  expect(await queries.of(acme, name, 2)).toEqual({ kind: 'version_unknown' });
});
