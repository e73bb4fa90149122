/** Each route says which parts of its response have data of runs, so that a caller without `payloads:read` gets none. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type PayloadPath, withoutPayload, withoutPayloads } from '../../lib/api/payloads.ts';
import { hiddenText } from '../../lib/base/hidden-text.ts';
import type { Route } from '../../lib/api/route.ts';
import { routes } from '../../lib/api/routes.ts';

const all: readonly Route[] = routes;

type Leaf = readonly [path: string, kind: 'json' | 'failure' | 'text'];

/** The values of a schema that are arbitrary JSON, a failure, or text that is no enum. */
function leavesOf(schema: unknown, path = ''): readonly Leaf[] {
  if (schema instanceof z.ZodCustom) return [[path, 'json']];
  if (schema instanceof z.ZodObject) {
    if (schema.meta()?.id === 'Failure') return [[path, 'failure']];
    // An error tells the caller about its own request.
    if (schema.meta()?.id === 'Error') return [];
    return Object.entries(schema.shape).flatMap(([name, field]) => leavesOf(field, `${path}/${name}`));
  }
  if (schema instanceof z.ZodExactOptional || schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return leavesOf(schema.unwrap(), path);
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodReadonly) return leavesOf(schema.unwrap(), path);
  if (schema instanceof z.ZodArray) return leavesOf(schema.element, `${path}/*`);
  if (schema instanceof z.ZodRecord) return leavesOf(schema.valueType, `${path}/*`);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => leavesOf(option, path));
  if (schema instanceof z.ZodTuple) return schema.def.items.flatMap((item) => leavesOf(item, `${path}/*`));
  if (schema instanceof z.ZodString || schema instanceof z.ZodPipe) return [[path, 'text']];
  if (schema instanceof z.ZodEnum || schema instanceof z.ZodLiteral || schema instanceof z.ZodBoolean) return [];
  if (schema instanceof z.ZodNumber) return [];
  throw new Error(`${path}: this test does not know ${String(schema)}`);
}

/** JSON that its author published, not data of a run. Saving a draft returns its definition. */
const definitions =
  /^(\/data\/\*)?(\/(definition|nodes|edges|options|params|input|output|query|schema)\b|.*\/(config|default|value)$)/;
const definitionRoutes = /Workflow|Version|Draft|Lens|Query|RunDefinition/;

/** Fields with names, ids, times and versions. A new text is data until it is listed here. */
const names = new Set(
  `runId workflowName version deploymentId rerunOf rerunFrom nodeId scheduleId correlationId createdAt
   availableAt deadlineAt deadlineLimitAt completedAt startedAt scheduledAt timestamp queuedAt endedAt retryAt
   idempotencyKey wakeAt until since leaseUntil updatedAt origin expiresAt type label iteration childRunId signal skipReason id
   cursor workflowId traceId signalId ticket trigger nodes rows woken workflowRunIds`.split(/\s+/),
);

/** Of deployed code, which reads and writes every run that it executes; of an administrator; of everyone. */
const isOfRuns = ({ scope }: Route): boolean => scope !== null && scope !== 'world:proxy' && scope !== 'admin';
const scoped = all.filter((route) => isOfRuns(route) && route.scope !== 'payloads:read');
const leavesOfRoute = ({ responses }: Route): readonly Leaf[] =>
  Object.values(responses).flatMap(({ schema }) => [...leavesOf(schema)]);
const covers = (path: string, declared: readonly PayloadPath[] = []): boolean =>
  declared.some((one) => path === one || path.startsWith(`${one}/`));

describe.each(scoped.map((route) => [route.operationId, route] as const))('%s', (operationId, route) => {
  const leaves = leavesOfRoute(route);

  test('declares each value of its response that can have data of a run', () => {
    const undeclared = leaves.filter(
      ([path, kind]) =>
        kind !== 'text' && !covers(path, route.payloads) && !(definitionRoutes.test(operationId) && definitions.test(path)),
    );
    expect(undeclared).toEqual([]);
  });

  test('names only what its response has, and can say that it hides', () => {
    const { payloads = [] } = route;
    for (const declared of payloads)
      expect(
        leaves.filter(([path]) => covers(path, [declared])),
        declared,
      ).not.toEqual([]);
    if (payloads.length === 0) return;
    for (const [status, { schema }] of Object.entries(route.responses))
      // A request that is accepted has no data yet.
      expect(schema instanceof z.ZodObject && 'payloadsHidden' in schema.shape, status).toBe(status !== '202');
  });
});

const ofRuns = scoped.filter(({ path, operationId }) => /^\/v1\/(runs|signals)/.test(path) && operationId !== 'getRunDefinition');

test.each(ofRuns.map((route) => [route.operationId, route] as const))('%s declares each text that is no name', (_id, route) => {
  const texts = leavesOfRoute(route).flatMap(([path, kind]) => (kind === 'text' && !covers(path, route.payloads) ? [path] : []));
  expect(texts.filter((path) => !names.has(path.split('/').findLast((step) => step !== '*') ?? ''))).toEqual([]);
});

test('routes of everyone and of administrators declare nothing: there is nothing that they could hide', () => {
  expect(all.filter((route) => !isOfRuns(route) && route.payloads !== undefined)).toEqual([]);
});

test('what a response need not have is absent, and what it must have is empty', () => {
  const error = { code: 'http_status', cause: 'http_status', message: 'for Ada', details: { body: 'for Ada' } };
  const run = { runId: 'wrun_1', error, nodes: [{ nodeId: 'a', output: 'for Ada' }, { nodeId: 'b' }] };
  expect(withoutPayloads(run, ['/input', '/error', '/nodes/*/output'])).toEqual({
    runId: 'wrun_1',
    error: { code: 'http_status', cause: 'http_status', message: hiddenText },
    nodes: [{ nodeId: 'a' }, { nodeId: 'b' }],
    payloadsHidden: true,
  });
});

test('an event keeps the fields that are listed, and a field that is not listed is hidden', () => {
  const failure = { cause: 'timeout', message: 'for Ada' };
  const event = {
    eventId: 3,
    payload: { nodeId: 'a', attempt: 2, failure, output: { value: 'for Ada' }, addedLater: 'for Ada' },
  };
  expect(withoutPayload(event)).toEqual({
    eventId: 3,
    payload: { nodeId: 'a', attempt: 2, failure: { code: 'timeout', cause: 'timeout', message: hiddenText } },
    payloadsHidden: true,
  });
});
