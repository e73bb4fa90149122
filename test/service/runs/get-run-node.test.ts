/** What a node saw and did, also in an iteration that the fold has dropped. */
import { expect, test } from 'vitest';
import { iterationKey, nodeId, topLevel } from '../../../lib/engine/ids.ts';
import { getRunNode } from '../../../lib/service/runs/get-run-node.ts';
import { functionCommand } from '../scripted-programs.ts';
import { startCodeRun } from '../code-test-env.ts';
import { type TestEnv, createTestEnv, failing, finished, workflow } from '../test-env.ts';
import type { RunAddress } from '../../../lib/engine/ids.ts';

const deciderOf = ({ worker }: TestEnv) => ({ ...worker, templateKeysOf: () => ['url', 'headers'] });

const read = async (env: TestEnv, run: RunAddress, id: string, iteration = '', attempt?: number) => {
  const ref = { nodeId: nodeId(id), iteration: iteration === '' ? topLevel : iterationKey(iteration) };
  const result = await getRunNode(deciderOf(env), run, attempt === undefined ? ref : { ...ref, attempt });
  if (result.kind !== 'found') throw new Error(result.kind);
  return result.view;
};

test('an ended iteration has its item, the templates of its config, and each attempt', async () => {
  const answer = (node: string, attempt: number) => (node === 'b' && attempt === 1 ? failing() : finished(node));
  const env = createTestEnv({ answer });
  const config = {
    url: 'https://shop.example/{{ctx.index}}',
    headers: { authorization: 'Bearer {{secret:shop}} {{ctx.index}}' },
    note: '{{ctx.index}}',
    retry: { attempts: 2 },
  };
  await env.publish(workflow('flow', 'a>l l/loop>b l/done>d', { l: { items: 3 }, b: config }));
  const run = await env.begin('flow');
  await env.settle();
  const view = await read(env, run, 'b', 'l[1]');
  expect((await env.fold(run)).state.iterations.size).toBe(0);
  expect(view.node).toMatchObject({ iteration: 'l[1]', state: { status: 'completed', attempt: 2 }, output: { value: 'b' } });
  expect(view.config).toEqual({
    value: { ...config, url: 'https://shop.example/1', headers: { authorization: 'Bearer {{secret:shop}} 1' } },
  });
  expect(view.context).toMatchObject({ value: { index: 1 } });
  expect(view.attempts.map(({ number, status, failure }) => [number, status, failure?.cause])).toEqual([
    [1, 'failed', 'error'],
    [2, 'completed', undefined],
  ]);
  const [first, second] = view.attempts;
  expect(second?.queuedAt).toBe(first?.endedAt);
  expect((await read(env, run, 'b', 'l[1]', 2)).attempts).toHaveLength(1);
});

test('a node that was not reached has no context, and an unknown one is not found', async () => {
  const env = createTestEnv({ answer: () => failing('invalid') });
  await env.publish(workflow('flow', 'a>b'));
  const run = await env.begin('flow');
  await env.settle();
  const view = await read(env, run, 'b');
  expect([view.runHasEnded, view.attempts]).toEqual([true, []]);
  const unknown = await getRunNode(deciderOf(env), run, { nodeId: nodeId('x'), iteration: topLevel });
  expect(unknown).toEqual({ kind: 'node_not_found' });
});

test('a step of code has its attempts, and no context', async () => {
  const { env, run } = await startCodeRun([[functionCommand('a')]]);
  await env.settle();
  const view = await read(env, run, 'a');
  expect(view.node.node).toMatchObject({ type: 'function', label: 'a' });
  expect(view.attempts).toMatchObject([{ number: 1, status: 'completed' }]);
  expect(view.context).toBeUndefined();
  await expect(read(env, run, 'never')).rejects.toThrow('node_not_found');
});
