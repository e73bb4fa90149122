import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { databaseWorldOf } from '../../functions/worker/database-wiring.ts';
import { DataApi } from '../../lib/aws/data-api.ts';
import { environment, projectId } from '../../lib/engine/ids.ts';

const database = (name: string) => ({
  clusterArn: `arn:aws:rds:eu-west-1:111122223333:cluster:${name}`,
  secretArn: `arn:aws:secretsmanager:eu-west-1:111122223333:secret:${name}-AbCdEf`,
  database: name,
});
const told = { acme: { '*': { orders: database('all'), stock: database('stock') }, test: { orders: database('test') } } };
beforeEach(() => void vi.stubEnv('STEPWELL_DATABASES', JSON.stringify(told)));
afterEach(() => void vi.unstubAllEnvs());
const of = (project: string, name: string) => ({ projectId: projectId(project), environment: environment(name) });

test('a name means the database that the setting gives it for that project and environment, and no other', () => {
  const world = databaseWorldOf();
  expect(world.placeOf(of('acme', 'test'), 'orders')).toEqual(database('test'));
  expect(world.placeOf(of('acme', 'production'), 'orders')).toEqual(database('all'));
  expect(world.placeOf(of('acme', 'test'), 'stock')).toEqual(database('stock'));
  for (const name of ['other', 'constructor', '__proto__']) expect(world.placeOf(of('acme', 'test'), name)).toBeUndefined();
  expect(world.placeOf(of('rival', 'test'), 'orders')).toBeUndefined();
});

test('the service is loaded once, when it is asked for', async () => {
  const world = databaseWorldOf();
  const first = await world.service();
  expect(first).toBeInstanceOf(DataApi);
  expect(await world.service()).toBe(first);
});
