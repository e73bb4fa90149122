/** An older client accepts new fields of a newer service, and requires declared ones. For every route. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { TransportComputeClientError } from '../../lib/client/index.ts';
import { tolerantSchema } from '../../lib/client/tolerant-schema.ts';
import { allRoutes, answerOf, calls, requiredPathsOf, sampleOf } from './every-call.ts';
import { json, createTestClient, errorResponse } from './test-client.ts';

type Place = readonly (string | number)[];
const rows = z.record(z.string(), z.unknown());

/** A copy with another value at one path; undefined removes it. */
const changed = (value: unknown, [step, ...rest]: Place, to: unknown): unknown => {
  if (step === undefined) return to;
  if (Array.isArray(value)) return value.map((row: unknown, replaceAt) => (replaceAt === step ? changed(row, rest, to) : row));
  const copy = { ...rows.parse(value) };
  const inner = changed(copy[step], rest, to);
  if (inner === undefined) delete copy[step];
  else copy[step] = inner;
  return copy;
};

/** Adds a field to every object, and replaces enum strings by unknown ones. */
const withUnknownValues = (schema: z.core.$ZodType): unknown => {
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape).map(([key, part]) => [key, withUnknownValues(part)]);
    return { ...Object.fromEntries(fields), fieldOfTomorrow: { any: ['thing'] } };
  }
  if (schema instanceof z.ZodExactOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly)
    return withUnknownValues(schema.def.innerType);
  if (schema instanceof z.ZodArray) return [withUnknownValues(schema.def.element)];
  if (schema instanceof z.ZodTuple) return [...schema.def.items.map(withUnknownValues), 'column of tomorrow'];
  if (schema instanceof z.ZodEnum) return 'word_of_tomorrow';
  if (schema instanceof z.ZodLiteral) {
    const [value] = schema.def.values;
    if (typeof value === 'string') return 'word_of_tomorrow';
    return typeof value === 'number' ? value + 1 : value;
  }
  return sampleOf(schema);
};

/** Their schemas do not say what is in the answer: a document of a standard, and the DevKit's own types. */
const isOfAnyForm: ReadonlySet<string> = new Set(['getOpenApi', 'listWorldHooks']);

describe.each(allRoutes.map((route) => [route.operationId, route] as const))('%s', (id, route) => {
  const { status, schema } = answerOf(route);
  const callWith = async (answer: unknown) => {
    const { client, expectError, runToEnd, sent } = createTestClient([json(status, answer)]);
    return { result: await runToEnd(calls[id](client)).catch((error: unknown) => error), fails: expectError, sent };
  };

  test('new fields and new enum strings are returned unchanged', async () => {
    const answer = withUnknownValues(schema);
    expect(schema.safeParse(answer).success).toBe(isOfAnyForm.has(id));
    expect((await callWith(answer)).result).toEqual(answer);
  });

  const requiredPaths = requiredPathsOf(schema);
  test.each(requiredPaths.map(({ path }) => [`/${path.join('/')}`, path] as const))(
    'a missing %s is an error with the pointer',
    async (place, path) => {
      const { result, sent } = await callWith(changed(sampleOf(schema), path, undefined));
      expect(result).toBeInstanceOf(TransportComputeClientError);
      expect(result).toMatchObject({
        kind: 'response',
        message: expect.stringContaining(`does not match the API at ${place}: `),
      });
      expect(sent).toHaveLength(1);
    },
  );

  const typedPaths = requiredPaths.filter(({ schema: part }) => !(part instanceof z.ZodCustom));
  test.each(typedPaths.map(({ path }) => [`/${path.join('/')}`, path] as const))(
    'a wrong type at %s is an error with the pointer',
    async (_place, path) => {
      const { result } = await callWith(changed(sampleOf(schema), path, [7]));
      expect(result).toMatchObject({
        kind: 'response',
        message: expect.stringContaining(`does not match the API at /${path[0]}`),
      });
    },
  );
});

test('an error response keeps its code with unknown fields', async () => {
  const errors = [{ pointer: '/a', code: 'c', message: 'm', severity: 'hint', more: 1 }];
  const { client, expectError } = createTestClient([
    errorResponse(418, 'a_code_of_tomorrow', {}, { errors, fieldOfTomorrow: true }),
  ]);
  expect(await expectError(client.health())).toMatchObject({ code: 'a_code_of_tomorrow', errors });
  const invalidDetails = createTestClient([json(409, { code: 'run_exists', message: 7, errors: 'many', required: null })]);
  expect(await invalidDetails.expectError(invalidDetails.client.health())).toMatchObject({
    code: 'run_exists',
    message: 'getHealth: refused (409 run_exists)',
  });
});

test('an unknown run status counts as open, and unknown events do not end the iteration', async () => {
  const runId = 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B';
  const event = (eventId: number, type: string) => ({ eventId, sequence: eventId, type, runId, timestamp: 't', payload: {} });
  const page = { data: [event(1, 'run.paused'), event(2, 'run.completed')], cursor: '2', hasMore: false };
  const { client, runToEnd } = createTestClient([json(200, page)]);
  const seen: string[] = [];
  await runToEnd(
    (async () => {
      for await (const { type } of client.followRunEvents(runId)) seen.push(type);
    })(),
  );
  expect(seen).toEqual(['run.paused', 'run.completed']);
});

test('a tolerant schema is created once', () => {
  const schema = z.strictObject({ a: z.enum(['x']) });
  expect(tolerantSchema(schema)).toBe(tolerantSchema(schema));
});
