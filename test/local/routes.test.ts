import { describe, expect, test } from 'vitest';
import { readRoutes } from '../../lib/local/http/routes.ts';
import { functionOf, restApi, templateOf } from './stacks.ts';

const fn = { ...functionOf('Fn', 'a', []), ...functionOf('Events', 'a', []) };

const routes = readRoutes(
  templateOf({
    ...fn,
    ...restApi(
      {
        'ANY /v1/{proxy+}': 'Fn',
        'ANY /v1/runs': 'Fn',
        'GET /v1/runs/{runId}': 'Fn',
        'POST /v1/runs/latest': 'Fn',
        'GET /v1/runs/{runId}/events': 'Events',
      },
      ['GET /v1/runs/{runId}/events'],
    ),
  }),
);

const find = (method: string, path: string) => {
  const route = routes?.find(method, path);
  return route === undefined ? undefined : { resource: route.resource, ...route.pathParameters };
};

describe('routes', () => {
  test.each([
    ['GET', '/v1/runs', { resource: '/v1/runs' }],
    ['GET', '/v1/runs/', { resource: '/v1/runs' }],
    ['GET', '/v1/runs/r1', { resource: '/v1/runs/{runId}', runId: 'r1' }],
    ['GET', '/v1/runs/a%20b', { resource: '/v1/runs/{runId}', runId: 'a b' }],
    ['POST', '/v1/runs/latest', { resource: '/v1/runs/latest' }],
    ['GET', '/v1/runs/r1/events', { resource: '/v1/runs/{runId}/events', runId: 'r1' }],
    ['DELETE', '/v1/anything/at/all', { resource: '/v1/{proxy+}', proxy: 'anything/at/all' }],
    ['GET', '/v1/runs/r1/nodes/n1', { resource: '/v1/{proxy+}', proxy: 'runs/r1/nodes/n1' }],
  ])('%s %s', (method, path, expected) => {
    expect(find(method, path)).toEqual(expected);
  });

  test('a resource hides the greedy one at its own path, with any methods', () => {
    expect(find('DELETE', '/v1/runs/r1')).toBeUndefined();
    expect(find('GET', '/v1/runs/latest')).toBeUndefined();
  });

  test('a path without methods is no route', () => {
    expect(find('GET', '/v1')).toBeUndefined();
    expect(find('GET', '/')).toBeUndefined();
  });

  test('a streaming method is recognised by its transfer mode', () => {
    expect(routes?.find('GET', '/v1/runs/r1/events')?.method).toMatchObject({
      isStreaming: true,
      functionArn: 'arn:aws:lambda:us-east-1:000000000000:function:Events',
    });
  });
});
