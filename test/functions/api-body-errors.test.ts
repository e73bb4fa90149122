/** Errors of bodies: all of them at once, and where a text stops being JSON. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { http } from './http.ts';

const details = z.object({
  code: z.string(),
  errors: z.array(z.looseObject({ pointer: z.string(), code: z.string(), message: z.string() })),
});
const errorsOf = async (method: string, path: string, body: unknown) => {
  const api = http();
  const answer = await api.call(method, path, { key: await api.key(['admin']), body });
  const { code, errors } = details.parse(answer.body);
  return { status: answer.status, code, errors: errors.map((each) => `${each.pointer} ${each.code}`) };
};

const broken = {
  nodes: [
    { id: 'start', type: 'start', colour: 'red' },
    { id: 'x', type: 'no-such-type' },
    { id: 'x', type: 'end' },
  ],
  edges: [{ source: 'start', target: 'nowhere' }],
  colour: 'blue',
};

test.each([
  ['POST', '/v1/workflows', { name: 'flow', ...broken }],
  ['POST', '/v1/workflows/validate', broken],
  ['POST', '/v1/workflows/test', broken],
  ['POST', '/v1/workflows/flow/versions', broken],
])('an unknown key hides no finding of the definition: %s %s', async (method, path, body) => {
  const { status, code, errors } = await errorsOf(method, path, body);
  expect([status, code]).toEqual([400, 'invalid_request']);
  expect(errors).toEqual(
    expect.arrayContaining([
      '/colour unknown_key',
      '/nodes/0/colour unknown_key',
      '/nodes/1/type node_type_unknown',
      '/nodes/2/id duplicate_node_id',
      '/edges/0/target orphan_target',
    ]),
  );
});

test('an unknown key hides no other error of a body', async () => {
  const manifest = {
    deploymentId: 'one',
    specVersion: 1,
    runtime: 'code',
    workflows: [
      { name: 'a', version: '1', colour: 'red' },
      { name: 'a', version: '1' },
    ],
    files: [{ path: 'workflows.mjs', sha256: 'ab'.repeat(32), bytes: 1 }],
    artifact: { sha256: 'ab'.repeat(32), bytes: 1 },
  };
  const { errors } = await errorsOf('POST', '/v1/deployments', manifest);
  expect(errors).toEqual(['/workflows/0/colour unknown_key', '/workflows custom']);
});

test('a body with only an unknown key is refused, and changes nothing', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const body = { name: 'flow', nodes: [{ id: 'start', type: 'start' }], edges: [], colour: 'red' };
  const { errors } = details.parse((await api.call('POST', '/v1/workflows', { key, body })).body);
  expect(errors.map(({ pointer }) => pointer)).toEqual(['/colour']);
  expect((await api.call('GET', '/v1/workflows/flow', { key })).status).toBe(404);
});
