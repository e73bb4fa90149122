/** Code workflows from the CLI to their ends in the embedded cloud: through the API, the queues and the function, as in AWS. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { cli, deploy, ended, hasEnded, node, project, rewrite, start, stepsIn, waits, when } from './code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { freshFolder, type LocalStart, preparedFolder, root, startLocal } from './local-start.ts';

const examples = join(root, 'examples/code-workflows');

const exampleRuns = z
  .array(
    z.strictObject({
      workflow: z.string(),
      input: z.unknown(),
      signals: z.array(z.unknown()).default([]),
      output: z.unknown().optional(),
      error: z.unknown().optional(),
    }),
  )
  .parse(JSON.parse(readFileSync(join(examples, 'runs.json'), 'utf8')));

let cloud: InProcessCloud;
/** the commits after the head of each run, in the order of their writes */
const commits = new Map<string, number>();
const putItem = z.looseObject({
  Item: z.looseObject({ pk: z.looseObject({ S: z.string() }), sk: z.looseObject({ S: z.string() }) }),
});
beforeAll(async () => {
  cloud = await startInProcessCloud({ 'stepwell:codeTimeoutSeconds': 30 });
  cloud.cloud.recorder.listen(({ service, operation, input, status }) => {
    const put = service === 'dynamodb' && operation === 'PutItem' && status === 200 ? putItem.safeParse(input).data : undefined;
    const runId = put?.Item.sk.S.startsWith('log#') === true ? put.Item.pk.S.split('#').at(-1) : undefined;
    if (runId !== undefined) commits.set(runId, (commits.get(runId) ?? 0) + 1);
  });
});
afterAll(() => cloud.stop());

describe('examples/code-workflows', { timeout: 60_000 }, () => {
  test('is deployed by the CLI, which prints the result', async () => {
    const printed = await deploy(cloud, examples);
    for (const { workflow } of exampleRuns) expect(printed).toContain(`+ ${workflow}`);
  });

  test.each(exampleRuns.map((each) => [`${each.workflow} ${JSON.stringify(each.input)}`, each] as const))(
    '%s comes to what runs.json says',
    async (_name, { workflow, input, signals, output, error }) => {
      const id = await start(cloud, workflow, input);
      for (const signal of signals) expect((await cloud.call('POST', '/v1/signals', signal)).status).toBe(202);
      const run = await ended(cloud, id);
      expect(run).toMatchObject(error === undefined ? { status: 'completed', output } : { status: 'failed', error });
    },
  );

  test('a chain of two steps has three commits after the head, and each step completes once', async () => {
    const id = await start(cloud, 'fulfil-order', { items: [{ price: 1, quantity: 2 }], discount: 0 });
    await ended(cloud, id);
    expect(commits.get(id)).toBe(3);
    expect(await stepsIn(cloud, id, 'node.completed')).toEqual(['total', 'discount', '.workflow-task.1']);
  });

  test('a rerun from a step keeps the steps before it, and uses a replaced result', async () => {
    const id = await start(cloud, 'fulfil-order', { items: [{ price: 1, quantity: 2 }], discount: 0 });
    await ended(cloud, id);
    const line = ['runs', 'rerun', id, '--from', 'discount', '--result', 'total=200'];
    const other = (await cli(cloud, examples, ...line)).trim().split(/\s/)[0] ?? '';
    expect(await ended(cloud, other)).toMatchObject({
      status: 'completed',
      output: { total: 200 },
      rerunOf: id,
      rerunFrom: 'discount',
    });
    // One commit copies the kept steps.
    expect(commits.get(other)).toBe(3);
    expect(await stepsIn(cloud, other, 'node.completed')).toEqual(['total', 'discount', '.workflow-task.1']);
  });

  test('ten parallel steps are requested in one commit', async () => {
    const id = await start(cloud, 'compare-offers', { shops: Array.from({ length: 10 }, (_, at) => `shop ${at}`) });
    await ended(cloud, id);
    expect(commits.get(id)).toBeLessThanOrEqual(11);
    const completed = await stepsIn(cloud, id, 'node.completed');
    expect([completed.length, new Set(completed).size]).toEqual([11, 11]);
  });

  test('a signal ends its wait, sent before or after the wait', async () => {
    const request = { requestId: 'late', amount: 500 };
    const id = await start(cloud, 'await-approval', request);
    await when(cloud, id, waits('approval'));
    const signal = { name: 'approval', correlation: 'late', payload: { by: 'Cy' } };
    expect((await cloud.call('POST', '/v1/signals', signal)).status).toBe(202);
    expect((await ended(cloud, id)).output).toEqual({ approved: true, by: 'Cy' });

    const early = { name: 'approval', correlation: 'early', payload: { by: 'Di' } };
    expect((await cloud.call('POST', '/v1/signals', early)).status).toBe(202);
    const other = await start(cloud, 'await-approval', { ...request, requestId: 'early' });
    expect((await ended(cloud, other)).output).toEqual({ approved: true, by: 'Di' });
  });

  test('a step that throws is retried by its policy, and the log contains the counted failures', async () => {
    const id = await start(cloud, 'charge-card', { orderId: 'o-9', amount: 9 });
    const run = await ended(cloud, id);
    expect([run.status, node(run, 'charge')?.attempt]).toEqual(['completed', 3]);
    expect(await stepsIn(cloud, id, 'node.retried')).toEqual(['charge', 'charge']);
  });

  test('a failing run rolls its bookings back, the last one first', async () => {
    const id = await start(cloud, 'book-trip', { city: 'Rome', hasGuide: false });
    expect((await ended(cloud, id)).error).toMatchObject({ code: 'no_guide' });
    const completed = await stepsIn(cloud, id, 'node.completed');
    expect(completed.filter((step) => step?.startsWith('rollback') === true)).toEqual(['rollback:hotel', 'rollback:flight']);
  });

  test('a child run is awaited, and can be read separately', async () => {
    const id = await start(cloud, 'welcome-team', { names: ['Ed'] });
    const run = await ended(cloud, id);
    const child = node(run, 'welcome')?.childRunId ?? '';
    expect(await ended(cloud, child)).toMatchObject({ status: 'completed', calledBy: { runId: id, nodeId: 'welcome' } });
  });

  test('the result of a race does not wait for the loser', async () => {
    const id = await start(cloud, 'first-answer', { question: 'Coffee?' });
    expect((await ended(cloud, id)).output).toBe('Coffee? Yes.');
    expect(await stepsIn(cloud, id, 'node.completed')).not.toContain('patience');
  });
});

const nondeterministic = (version: string): string => `
export const versioned = defineWorkflow({ name: 'versioned' }, async ({ step }) => {
  const first = await step.run({ name: 'first' }, () => '${version}');
  await step.waitForSignal({ signal: 'go on' });
  return [first, await step.run({ name: 'second' }, () => '${version}')];
});
export const strays = defineWorkflow({ name: 'strays' }, async ({ step }) => {
  await step.run({ name: 'at ' + ('${version}' === 'three' ? 'once' : process.hrtime.bigint()) }, () => 1);
  await step.sleep('nap', 1);
  return 'corrected';
});
export const undone = defineWorkflow({ name: 'undone' }, async ({ input, step }) => {
  for (const name of ['one', 'two'])
    await step.run({ name, rollback: () => note(input.file, 'undo ' + name) }, () => note(input.file, name));
  await step.sleep('long', '1 hour');
});
export const heeding = defineWorkflow({ name: 'heeding' }, async ({ input, step }) => {
  await step.run({ name: 'long' }, async ({ signal }) => {
    note(input.file, 'begun');
    await wait(60_000, undefined, { signal }).catch(() => note(input.file, String(Date.now())));
  });
});
export const exits = defineWorkflow({ name: 'exits' }, async ({ step }) => {
  await step.run({ name: 'before' }, () => 1);
  return step.run({ name: 'exit', retryPolicy: { maximumAttempts: 2, initialInterval: 1 } }, ({ attempt }) => {
    if (attempt === 1) process.exit(3);
    return attempt;
  });
});
export const unstorable = defineWorkflow({ name: 'unstorable' }, async ({ step }) =>
  step.run({ name: 'big' }, () => ({ of: 10n })));
export const declined = defineWorkflow({ name: 'declined' }, async ({ step }) =>
  step.run({ name: 'charge' }, async () => {
    console.log('charging');
    throw new NonRetryableError('the card is empty');
  }));
export const caller = defineWorkflow({ name: 'caller' }, ({ step }) => step.runWorkflow(declined, {}));
`;

describe('a project of one’s own', { timeout: 90_000 }, () => {
  const folder = project(nondeterministic('one'));
  beforeAll(() => deploy(cloud, folder, '--deployment-id', 'one'));
  const noted = (file: string): readonly string[] => {
    try {
      return readFileSync(file, 'utf8').trim().split('\n');
    } catch {
      return [];
    }
  };

  test('a run stays on its deployment while another is activated, and new runs use the new one', async () => {
    const id = await start(cloud, 'versioned');
    await when(cloud, id, waits('go.x20.on'));
    rewrite(folder, nondeterministic('two'));
    expect(await deploy(cloud, folder, '--deployment-id', 'two')).toContain('~ versioned');
    const other = await start(cloud, 'versioned');
    for (const runId of [id, other])
      expect((await cloud.call('POST', `/v1/runs/${runId}/signals`, { name: 'go on' })).status).toBe(202);
    expect(await ended(cloud, id)).toMatchObject({ deploymentId: 'one', output: ['one', 'one'] });
    expect(await ended(cloud, other)).toMatchObject({ deploymentId: 'two', output: ['two', 'two'] });
  });

  test('code that requests other steps is reported, and its run can be rerun on corrected code', async () => {
    const id = await start(cloud, 'strays');
    const run = await when(cloud, id, ({ nodes }) =>
      nodes.some(({ nodeId, attempt }) => nodeId === '.workflow-task.2' && attempt > 1),
    );
    expect(run.status).toBe('running');
    const said = await cli(cloud, folder, 'explain', id);
    expect(said).toMatch(/step 1 of this run is function "at \d+", but the code of deployment \w+ requests function "at \d+"/);
    rewrite(folder, nondeterministic('three'));
    await deploy(cloud, folder, '--deployment-id', 'three');
    const other = (await cli(cloud, folder, 'runs', 'rerun', id, '--deployment', 'three')).trim().split(/\s/)[0] ?? '';
    expect((await ended(cloud, other)).output).toBe('corrected');
    await cli(cloud, folder, 'runs', 'cancel', id);
    expect((await ended(cloud, id)).status).toBe('cancelled');
  });

  test('a cancelled run rolls its steps back, the last one first', async () => {
    const file = join(freshFolder(), 'noted');
    const id = await start(cloud, 'undone', { file });
    await when(cloud, id, waits('long'));
    expect((await cloud.call('POST', `/v1/runs/${id}/cancel`, { reason: 'enough' })).status).toBe(200);
    expect(await ended(cloud, id)).toMatchObject({ status: 'cancelled' });
    expect(noted(file)).toEqual(['one', 'two', 'undo two', 'undo one']);
  });

  test('a cancellation aborts the running step within five seconds', async () => {
    const file = join(freshFolder(), 'noted');
    const id = await start(cloud, 'heeding', { file });
    await expect.poll(() => noted(file), { timeout: 30_000 }).toEqual(['begun']);
    const cancelledAt = Date.now();
    expect((await cloud.call('POST', `/v1/runs/${id}/cancel`)).status).toBe(200);
    await expect.poll(() => noted(file), { timeout: 10_000 }).toHaveLength(2);
    expect(Number(noted(file)[1]) - cancelledAt).toBeLessThan(5_000);
    expect((await ended(cloud, id)).status).toBe('cancelled');
  });

  test('a step whose code exits fails and is retried, and earlier steps stay completed', async () => {
    const id = await start(cloud, 'exits');
    const run = await ended(cloud, id);
    expect(run).toMatchObject({ status: 'completed', output: 2 });
    expect(node(run, 'before')?.attempt).toBe(1);
  });

  test('a result that has no JSON fails its step at once', async () => {
    const run = await ended(cloud, await start(cloud, 'unstorable'));
    expect(run.error).toMatchObject({ code: 'result_not_serialisable' });
    expect(node(run, 'big')?.attempt).toBe(1);
  });

  test('explain names the step and the line that failed in a called run, and logs prints its lines', async () => {
    const id = await start(cloud, 'caller');
    const run = await ended(cloud, id);
    expect(await cli(cloud, folder, 'explain', id)).toMatch(
      /Root cause: step charge, called run wrun_\w+ \(declined\): the card is empty \(non_retryable\), at workflows\/all\.ts:\d+:11\./,
    );
    expect(await cli(cloud, folder, 'logs', run.nodes[0]?.childRunId ?? '')).toMatch(/ {2}charge {2}charging\n/);
  });
});

describe('a kill of everything', () => {
  let local: LocalStart | undefined;
  afterAll(() => local?.end('SIGTERM'));

  test('half-way through a run: completed steps do not run again', { timeout: 300_000 }, async () => {
    const directory = preparedFolder();
    const file = join(directory, 'noted');
    const folder = project(`
export const slow = defineWorkflow({ name: 'slow' }, async ({ input, step }) => {
  const done = [];
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) done.push(await step.run({ name }, async () => {
    note(input.file, name);
    await wait(1_000);
    return process.pid;
  }));
  return done;
});`);
    const first = await startLocal(directory);
    local = first;
    await deploy(first, folder);
    const id = await start(first, 'slow', { file });
    await when(first, id, (run) => node(run, 'c')?.status === 'completed');
    await first.end('SIGKILL');

    local = await startLocal(directory);
    const run = await when(local, id, hasEnded);
    expect(run.status).toBe('completed');
    const processes = z.array(z.int()).length(6).parse(run.output);
    expect(new Set(processes)).toEqual(new Set([first.pid, local.pid]));
    expect(processes.slice(0, 3)).toEqual([first.pid, first.pid, first.pid]);
    expect(await stepsIn(local, id, 'node.completed')).toEqual([
      'a',
      'b',
      'c',
      'd',
      'e',
      'f',
      expect.stringMatching(/^\.workflow-task\./),
    ]);
    const begun = readFileSync(file, 'utf8').trim().split('\n');
    // Only the step that was running at the kill started twice.
    for (const name of ['a', 'b', 'c']) expect(begun.filter((each) => each === name)).toEqual([name]);
    expect(begun.length).toBeLessThanOrEqual(7);
  });
});
