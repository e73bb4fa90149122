/** Each function has the routes of the paths that the gateway sends to it, so that it answers unknown methods with the known ones. */
import { describe, expect, test } from 'vitest';
import { servedByApi } from '../../functions/api/operations/all.ts';
import { servedByDeployments } from '../../functions/api/operations/deployments.ts';
import { servedByEvents } from '../../functions/api/operations/events.ts';
import { servedByLibrary } from '../../functions/api/operations/library.ts';
import { servedByTestRuns } from '../../functions/api/operations/test-runs.ts';
import { servedByWebhooks } from '../../functions/api/operations/webhooks.ts';
import { servedByWorld } from '../../functions/api/operations/world.ts';
import { routes } from '../../lib/api/routes.ts';

const functions = {
  api: servedByApi,
  deployments: servedByDeployments,
  events: servedByEvents,
  library: servedByLibrary,
  'test-runs': servedByTestRuns,
  webhooks: servedByWebhooks,
  world: servedByWorld,
};

describe.each(Object.entries(functions))('%s', (name, served) => {
  const ids = served.routes.map(({ operationId }) => operationId);

  test('has the routes of its operations, and of every method at their paths', () => {
    const paths = new Set(routes.filter(({ servedBy }) => servedBy === name).map(({ path }) => path));
    expect(paths.size).toBeGreaterThan(0);
    for (const { operationId, path } of routes) if (paths.has(path)) expect(ids).toContain(operationId);
  });
});

test('the API knows the events of a run: the gateway sends it the other methods of that path', () => {
  expect(servedByApi.routes.map(({ operationId }) => operationId)).toContain('listRunEvents');
});
