/** `runs export-test`: writes the history of a run as the testing kit reads it, with a test that runs. */
import { pointerAfter } from '../../lib/ports/deployments.ts';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { environment, projectId } from '../../lib/engine/ids.ts';
import { after, days, minutes } from '../../lib/engine/time.ts';
import { VirtualTime } from '../../lib/testing/virtual-time.ts';
import { startWorkflowTask } from '../../lib/program/start-workflow-task.ts';
import { type WorkflowArguments, defineWorkflow } from '../../lib/sdk/index.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { runWorkflowTask } from '../../lib/service/kinds/code/run-workflow-task.ts';
import { replay } from '../../lib/testing/index.ts';
import { instantGraph } from '../functions/http.ts';
import { codeManifest } from '../service/code-test-env.ts';
import {
  type CliEnvironment,
  type TestCli,
  createCliEnvironment,
  dataIn,
  errorIn,
  expectExit,
  createFolder,
} from './test-cli.ts';
import type { WorkflowTaskWorker } from '../../lib/service/worker.ts';

const order = defineWorkflow(
  { name: 'order', version: '1' },
  async ({ input, step }: WorkflowArguments<{ readonly size: number; readonly text?: string }>) => {
    const largeText = await step.run({ name: 'fill the box' }, () => 'x'.repeat(input.size));
    const [one, two] = await Promise.all([
      step.run({ name: 'one' }, () => 1),
      step.run({ name: 'two', retryPolicy: { maximumAttempts: 1 } }, () => Promise.reject(new Error('no two'))).catch(() => 2),
    ]);
    return { length: largeText.length, one, two, last: await step.run({ name: 'text' }, () => input.text ?? '') };
  },
);

let cliEnvironment: CliEnvironment;
let admin: TestCli;
let cwd: string;
beforeEach(async () => {
  cliEnvironment = createCliEnvironment();
  cwd = createFolder();
  admin = await cliEnvironment.cliWithScopes(['admin'], { cwd });
});

/** Starts a run and executes it to its end. */
async function runToEnd(input: object): Promise<string> {
  const { world } = cliEnvironment.api;
  const scope = { projectId: projectId('acme'), environment: environment('test') };
  const manifest = codeManifest('v1');
  const at = world.clock.now();
  await world.deployments.create(scope, { manifest, createdAt: at, createdBy: null, verifiedAt: at });
  const activation = { deploymentId: manifest.deploymentId, at, by: null };
  await world.deployments.movePointer(scope, 0, pointerAfter(undefined, manifest, activation));
  writeFileSync(join(cwd, 'input.json'), JSON.stringify(input));
  const { out } = await admin.type('runs', 'start', 'order', '--input-file', 'input.json');
  const clock = new VirtualTime(world.clock).programClock;
  const driver: WorkflowTaskWorker = {
    deps: { ...world, settings: { retentionMs: days(30), idempotencyMs: days(1), requiresHttps: false } },
    by: 'worker',
    plans: new Plans({ compile: () => unlimited(), evaluate: () => unlimited() }),
    kinds: runKinds,
    programs: { start: (_scope, _manifest, task, host) => startWorkflowTask([order], task, host, { deploymentId: 'v1', clock }) },
  };
  for (const job of world.jobs.takeMessages()) {
    if (job.kind !== 'workflow_task') throw new Error(job.kind);
    await runWorkflowTask(driver, job, { isRedelivered: false, mustEndAt: after(at, minutes(15)) });
  }
  return out.trim();
}

const unlimited = (): never => {
  throw new Error('there are no graphs here');
};

const written = z.strictObject({ written: z.array(z.string()) });
const historyIn = (path: string): unknown => JSON.parse(readFileSync(join(cwd, path), 'utf8'));

test('writes a history and a test that replays it', async () => {
  writeFileSync(join(cwd, 'package.json'), '{"devDependencies":{"vitest":"5.1.0"}}');
  const id = await runToEnd({ size: 20 });
  const name = `order-${id.slice(-6).toLowerCase()}`;
  const answer = await admin.type('--json', 'runs', 'export-test', id);
  expect(dataIn(answer, written).written).toEqual([`tests/${name}.history.json`, `tests/${name}.test.ts`]);
  const history = historyIn(`tests/${name}.history.json`);
  expect(history).toMatchObject({
    format: 'stepwell.history',
    version: 1,
    run: { id, workflowName: 'order', version: '1' },
    input: { size: 20 },
    end: { status: 'completed', output: { length: 20, one: 1, two: 2 } },
  });
  expect(await replay(order, history)).toEqual({ status: 'completed', output: { length: 20, one: 1, two: 2, last: '' } });
  expect(await replay({ order, other: 1 }, history)).toMatchObject({ status: 'completed' });
  const other = defineWorkflow({ name: 'order' }, ({ step }) => step.run({ name: 'fill a bag' }, () => ''));
  await expect(replay(other, history)).rejects.toMatchObject({ code: 'replay_diverged' });
  const text = readFileSync(join(cwd, 'tests', `${name}.test.ts`), 'utf8');
  expect(text).toContain(`import * as workflows from "../workflows/order.ts";`);
  expect(text).toContain(`expect((await replay(workflows, history)).status).toBe('completed');`);
  const again = await admin.type('--json', 'runs', 'export-test', id);
  expect([again.exitCode, errorIn(again).code]).toEqual([1, 'file_exists']);
});

test.each([
  ['a package that asks for vitest', '{"devDependencies":{"vitest":"5.1.0"}}', 'vitest'],
  ['the package of stepwell init', '{"scripts":{"test":"node --import tsx --test tests/*.test.ts"}}', 'node:test'],
  ['a package that cannot be read', '{', 'node:test'],
])('in %s, the test imports its runner', async (_what, manifest, module) => {
  writeFileSync(join(cwd, 'package.json'), manifest);
  expectExit(await admin.type('runs', 'export-test', await runToEnd({ size: 1 }), '--name', 'first'), 0);
  expect(readFileSync(join(cwd, 'tests', 'first.test.ts'), 'utf8')).toMatch(
    new RegExp(`import \\{.* test \\} from '${module}';`),
  );
});

test('options set the file names, the folder and the runner', async () => {
  const id = await runToEnd({ size: 1 });
  const options = ['--into', 'replays', '--name', 'first', '--import', '../flows.ts', '--runner', 'node'];
  expectExit(await admin.type('runs', 'export-test', id, ...options), 0);
  const text = readFileSync(join(cwd, 'replays', 'first.test.ts'), 'utf8');
  expect(text).toContain(`import { test } from 'node:test';`);
  expect(text).toContain(`from "../flows.ts";`);
  expectExit(await admin.type('runs', 'export-test', id, '--name', '../out'), 3);
});

test('the history contains values that events reference', async () => {
  const text = Array.from({ length: 20_000 }, (_, index) => index * 7_919).join();
  const id = await runToEnd({ size: 1, text });
  expectExit(await admin.type('runs', 'export-test', id, '--name', 'large'), 0);
  expect(JSON.stringify(await cliEnvironment.clientOf(await cliEnvironment.api.key(['admin'])).listRunEvents(id))).toContain(
    '"ref"',
  );
  const history = historyIn('tests/large.history.json');
  expect(await replay(order, history)).toEqual({ status: 'completed', output: { length: 1, one: 1, two: 2, last: text } });
});

test('a run with omitted values and a graph run are refused', async () => {
  const id = await runToEnd({ size: 5_000_000 });
  const large = await admin.type('--json', 'runs', 'export-test', id);
  expect([large.exitCode, errorIn(large)]).toMatchObject([1, { code: 'value_omitted' }]);
  expect(errorIn(large).message).toContain('fill the box');
  expect(existsSync(join(cwd, 'tests'))).toBe(false);
  const key = await cliEnvironment.api.key(['admin']);
  await cliEnvironment.api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph() } });
  const { out } = await admin.type('runs', 'start', 'flow');
  const graph = await admin.type('--json', 'runs', 'export-test', out.trim());
  expect([graph.exitCode, errorIn(graph).code]).toEqual([1, 'no_history']);
});
