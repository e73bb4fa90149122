/** The tags of a run over HTTP. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { http, instantGraph, started, textIn } from './http.ts';

const tags = z.object({ data: z.array(z.looseObject({ tag: z.string(), eventId: z.number(), severity: z.string() })) });

test('tags are listed in pages, and no tag is missed', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const runId = await started(api, key, { graph: instantGraph() });
  const all = await api.call('GET', `/v1/runs/${runId}/tags`, { key });
  const whole = tags.parse(all.body).data;
  expect(whole.map(({ tag, severity }) => [tag, severity])).toEqual([
    ['node_started', 'info'],
    ['node_completed', 'info'],
    ['node_started', 'info'],
    ['node_completed', 'info'],
  ]);
  expect(all.body).toMatchObject({
    hasMore: false,
    data: [{ nodeId: 'start', timestamp: expect.any(String), metadata: { attempt: 1 } }, {}, {}, {}],
  });
  const first = await api.call('GET', `/v1/runs/${runId}/tags`, { key, query: { limit: '1' } });
  expect(first.body['hasMore']).toBe(true);
  const second = await api.call('GET', `/v1/runs/${runId}/tags`, { key, query: { after: textIn(first, 'cursor') } });
  expect([...tags.parse(first.body).data, ...tags.parse(second.body).data]).toEqual(whole);
});

test('a cursor that is none, and a run that is not there', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const runId = await started(api, key);
  expect((await api.call('GET', `/v1/runs/${runId}/tags`, { key, query: { after: 'x' } })).body['code']).toBe('cursor_invalid');
  expect((await api.call('GET', '/v1/runs/wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV/tags', { key })).status).toBe(404);
});
