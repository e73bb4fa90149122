/** The fuzz test's response check finds invalid responses. */
import { expect, test } from 'vitest';
import { errorCatalogue } from '../../lib/api/errors.ts';
import { type FuzzResponse, violationOf } from './fuzz/check-response.ts';
import type { FuzzRequest } from './fuzz/requests.ts';

const request = (method: string, target: string): FuzzRequest => ({
  method,
  target,
  headers: [],
  body: undefined,
  operationId: '',
});
const answer = (status: number, body: unknown, changed: Partial<FuzzResponse> = {}): FuzzResponse => ({
  status,
  headers: { 'x-workflow-correlation-id': 'c' },
  text: JSON.stringify(body),
  ...changed,
});
const error = (code: keyof typeof errorCatalogue, more: object = {}) =>
  answer(errorCatalogue[code].status, { code, message: '', correlationId: 'c', ...more });
const healthy = { healthy: true, timestamp: '2026-01-01T00:00:00.000Z' };
const health = request('GET', '/v1/health?a=%ff');

test.each([
  ['of a route', health, answer(200, healthy)],
  ['of a route with a slash behind it', request('GET', '/v1/health/'), answer(200, healthy)],
  ['an error that the route declares', request('GET', '/v1/runs/x'), error('not_found')],
  ['of no route', request('GET', '/v1/%2e%2e/x'), error('not_found')],
  ['to a method that the path does not take', request('PATCH', '/v1/runs'), error('method_not_allowed')],
])('a valid response: %s', (_name, asked, given) => {
  expect(violationOf(asked, given)).toBeUndefined();
});

test.each([
  ['5xx', health, error('internal')],
  ['a member that the schema has not', health, answer(200, { ...healthy, more: 1 })],
  ['a status that the route has not', health, answer(201, healthy)],
  ['no JSON', health, answer(200, undefined, { text: '<html>' })],
  ['a good answer of no route', request('GET', '/v1/nothing'), answer(200, healthy)],
  ['an error that the route does not declare', health, error('rate_limited')],
  ['an error with a member of its own', request('GET', '/v1/runs'), error('unauthorized', { stack: '' })],
  ['an error with another status', request('GET', '/v1/runs'), { ...error('unauthorized'), status: 403 }],
  ['another correlation id in the body', request('GET', '/v1/runs'), error('unauthorized', { correlationId: 'd' })],
  ['no correlation id', health, answer(200, healthy, { headers: {} })],
  ['a good answer to HEAD', request('HEAD', '/v1/health'), answer(200, undefined, { text: '' })],
])('an invalid response: %s', (_name, asked, given) => {
  expect(violationOf(asked, given)).toEqual(expect.any(String));
});
