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

let world: ReturnType<typeof memoryPorts>;
let queries: ProjectQueries;
beforeEach(async () => {
  world = memoryPorts();
  queries = new ProjectQueries(world);
  await createQuery(world, acme, draft('select 1'));
});

test('the latest version is asked for where none is named, and the one that is named stays', async () => {
  expect(await queries.of(acme, name)).toMatchObject({ query: { version: 1, statement: 'select 1' } });
  await publishQueryVersion(world, acme, draft('select 2'));
  expect(await queries.of(acme, name)).toMatchObject({ query: { version: 2, statement: 'select 2' } });
  expect(await queries.of(acme, name, 1)).toMatchObject({ query: { version: 1, statement: 'select 1' } });
});

test('an archived one is asked by nobody, also where it is kept', async () => {
  await queries.of(acme, name, 1);
  await archiveName({ ...world, store: world.queries }, acme, name);
  expect([await queries.of(acme, name, 1), await queries.of(acme, name)]).toEqual([{ kind: 'archived' }, { kind: 'archived' }]);
});

test('one of another project, of another name, or of no such version is unknown', async () => {
  await queries.of(acme, name);
  expect(await queries.of({ ...acme, projectId: projectId('rival') }, name)).toEqual({ kind: 'unknown' });
  expect(await queries.of({ ...acme, environment: environment('live') }, name)).toEqual({ kind: 'unknown' });
  expect(await queries.of(acme, queryName('other'))).toEqual({ kind: 'unknown' });
  expect(await queries.of(acme, name, 2)).toEqual({ kind: 'version_unknown' });
});
