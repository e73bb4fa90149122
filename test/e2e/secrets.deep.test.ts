/** A secret on a laptop: written to the owner's file, used by a node, and in no other file of the state folder. */
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type LocalStart, preparedFolder, startLocal } from './local-start.ts';

const planted = 'planted-7c4a8d09ca3762af61e5';
const directory = preparedFolder();
let local: LocalStart;
beforeAll(async () => {
  writeFileSync(join(directory, 'secrets.json'), JSON.stringify({ token: planted }), { mode: 0o600 });
  local = await startLocal(directory);
});
afterAll(() => local.end('SIGTERM'));

const runShape = z.looseObject({ status: z.string(), nodes: z.array(z.looseObject({ nodeId: z.string() })) });

/** The ended run of a workflow whose request uses this secret. */
async function runWith(secret: string) {
  const ask = {
    id: 'ask',
    type: 'http',
    // A reserved name (RFC 6761): the request fails at the name resolution.
    config: {
      url: 'https://unknown.invalid/',
      headers: { authorization: `Bearer {{secret:${secret}}}` },
      retry: { attempts: 1 },
      errorHandling: 'fail_workflow',
    },
  };
  const name = `uses-${secret}`;
  const nodes = [{ id: 'start', type: 'start' }, ask];
  const published = await local.call('POST', '/v1/workflows', { name, nodes, edges: [{ source: 'start', target: 'ask' }] });
  expect(published.status).toBe(201);
  const started = await local.call('POST', '/v1/runs', { workflowName: name, input: {} }, { 'idempotency-key': name });
  const { runId } = z.object({ runId: z.string() }).parse(started.body);
  for (;;) {
    const { body } = await local.call('GET', `/v1/runs/${runId}?resolveData=all`);
    if (['completed', 'failed'].includes(runShape.parse(body).status)) return JSON.stringify(body);
    await wait(100);
  }
}

function* filesIn(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* filesIn(path);
    else yield path;
  }
}

test('only names in the owner’s file may be used', async () => {
  expect(await runWith('token')).toContain('name_not_resolved');
  expect(await runWith('other')).toContain('secret_not_allowed');
});

test('the catalogue has the name for authors, and not the text', async () => {
  const { body } = await local.call('GET', '/v1/catalogue');
  expect(body).toEqual({ secrets: ['token'], models: ['default'], databases: [] });
});

test('its text is only in the owner’s file', () => {
  const files = [...filesIn(directory)];
  expect(files.length).toBeGreaterThan(10);
  const holding = files.filter((file) => readFileSync(file).includes(planted));
  expect(holding).toEqual([join(directory, 'secrets.json')]);
});
