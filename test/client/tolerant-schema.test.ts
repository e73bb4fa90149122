/** An older client accepts new fields of a newer service, and requires declared ones. For every route. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { TransportComputeClientError } from '../../lib/client/index.ts';
import { tolerantSchema } from '../../lib/client/tolerant-schema.ts';
import { allRoutes, answerOf, calls, promisesOf, sampleOf } from './every-call.ts';
import { json, otherEnd, refused } from './other-end.ts';

type Place = readonly (string | number)[];
const rows = z.record(z.string(), z.unknown());

/** A copy with another value at one path; undefined removes it. */
const changed = (value: unknown, [step, ...rest]: Place, to: unknown): unknown => {
  if (step === undefined) return to;
  if (Array.isArray(value)) return value.map((row: unknown, at) => (at === step ? changed(row, rest, to) : row));
  const copy = { ...rows.parse(value) };
  const inner = changed(copy[step], rest, to);
  if (inner === undefined) delete copy[step];
  else copy[step] = inner;
  return copy;
};

/** Adds a field to every object, and replaces enum strings by unknown ones. */
const fromTomorrow = (schema: z.core.$ZodType): unknown => {
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape).map(([key, part]) => [key, fromTomorrow(part)]);
    return { ...Object.fromEntries(fields), fieldOfTomorrow: { any: ['thing'] } };
  }
  if (schema instanceof z.ZodExactOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly)
    return fromTomorrow(schema.def.innerType);
  if (schema instanceof z.ZodArray) return [fromTomorrow(schema.def.element)];
  if (schema instanceof z.ZodEnum) return 'word_of_tomorrow';
  if (schema instanceof z.ZodLiteral) {
    const [value] = schema.def.values;
    if (typeof value === 'string') return 'word_of_tomorrow';
    return typeof value === 'number' ? value + 1 : value;
  }
  return sampleOf(schema);
};

describe.each(allRoutes.map((route) => [route.operationId, route] as const))('%s', (id, route) => {
  const { status, schema } = answerOf(route);
  const asked = async (answer: unknown) => {
    const { client, fails, play, sent } = otherEnd([json(status, answer)]);
    return { came: await play(calls[id](client)).catch((error: unknown) => error), fails, sent };
  };

  test('new fields and new enum strings are returned unchanged', async () => {
    const answer = fromTomorrow(schema);
    expect(schema.safeParse(answer).success).toBe(id === 'getOpenApi');
    expect((await asked(answer)).came).toEqual(answer);
  });

  const promises = promisesOf(schema);
  test.each(promises.map(({ path }) => [`/${path.join('/')}`, path] as const))(
    'a missing %s is an error with the pointer',
    async (place, path) => {
      const { came, sent } = await asked(changed(sampleOf(schema), path, undefined));
      expect(came).toBeInstanceOf(TransportComputeClientError);
      expect(came).toMatchObject({ kind: 'response', message: expect.stringContaining(`does not match the API at ${place}: `) });
      expect(sent).toHaveLength(1);
    },
  );

  const kinded = promises.filter(({ schema: part }) => !(part instanceof z.ZodCustom));
  test.each(kinded.map(({ path }) => [`/${path.join('/')}`, path] as const))(
    'a wrong type at %s is an error with the pointer',
    async (_place, path) => {
      const { came } = await asked(changed(sampleOf(schema), path, [7]));
      expect(came).toMatchObject({ kind: 'response', message: expect.stringContaining(`does not match the API at /${path[0]}`) });
    },
  );
});

test('an error response keeps its code with unknown fields', async () => {
  const errors = [{ pointer: '/a', code: 'c', message: 'm', severity: 'hint', more: 1 }];
  const { client, fails } = otherEnd([refused(418, 'a_code_of_tomorrow', {}, { errors, fieldOfTomorrow: true })]);
  expect(await fails(client.health())).toMatchObject({ code: 'a_code_of_tomorrow', errors });
  const odd = otherEnd([json(409, { code: 'run_exists', message: 7, errors: 'many', required: null })]);
  expect(await odd.fails(odd.client.health())).toMatchObject({
    code: 'run_exists',
    message: 'getHealth: refused (409 run_exists)',
  });
});

test('an unknown run status counts as open, and unknown events do not end the iteration', async () => {
  const runId = 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B';
  const event = (eventId: number, type: string) => ({ eventId, sequence: eventId, type, runId, timestamp: 't', payload: {} });
  const page = { data: [event(1, 'run.paused'), event(2, 'run.completed')], cursor: '2', hasMore: false };
  const { client, play } = otherEnd([json(200, page)]);
  const seen: string[] = [];
  await play(
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
