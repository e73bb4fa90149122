/** A secret on a laptop: written into a file of the owner's, used by a node, and found nowhere else in the state folder. */
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { type LocalStart, freshFolder, startLocal } from './local-start.ts';

const planted = 'planted-7c4a8d09ca3762af61e5';
const directory = freshFolder();
let local: LocalStart;
beforeAll(async () => {
  writeFileSync(join(directory, 'secrets.json'), JSON.stringify({ token: planted }), { mode: 0o600 });
  local = await startLocal(directory);
});
afterAll(() => local.end('SIGTERM'));

const runShape = z.looseObject({ status: z.string(), nodes: z.array(z.looseObject({ nodeId: z.string() })) });

/** The run of a workflow whose one request uses this secret, once it has ended. */
async function runWith(secret: string) {
  const ask = {
    id: 'ask',
    type: 'http',
    // A name that is never given to anybody (RFC 6761): the request gets as far as needing an address.
    config: {
      url: 'https://nobody.invalid/',
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

test('a name that was written down may be used, and no other', async () => {
  expect(await runWith('token')).toContain('name_not_resolved');
  expect(await runWith('other')).toContain('secret_not_allowed');
});

test('its text is in no file but the one that its owner wrote', () => {
  const files = [...filesIn(directory)];
  expect(files.length).toBeGreaterThan(10);
  const holding = files.filter((file) => readFileSync(file).includes(planted));
  expect(holding).toEqual([join(directory, 'secrets.json')]);
});
