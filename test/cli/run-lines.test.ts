/** The lines that `stepwell start` and `stepwell dev` print for the events of a run. */
import { StepNames } from '../../lib/cli/devkit-names.ts';
import { expect, test } from 'vitest';
import { describeRunEvent, printRunLines } from '../../lib/cli/project/run-lines.ts';
import type { RunEvent, StepwellClient } from '../../lib/client/index.ts';
import { minutes } from '../../lib/engine/time.ts';
import { threadSandbox } from '../../lib/nodes/sandbox/thread-sandbox.ts';
import { createInProcessApi } from '../client/in-process.ts';
import { instantGraph } from '../functions/http.ts';

const plain = { colorize: (_tone: string, text: string): string => text };

const event = (second: number, type: RunEvent['type'], payload: RunEvent['payload'] = {}): RunEvent => ({
  eventId: second + 1,
  sequence: 0,
  type,
  timestamp: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`,
  runId: 'wrun_01M7XSDTEE14XW69VBQD8BT3DC',
  payload,
});

const linesOf = (events: readonly RunEvent[]): readonly string[] => {
  const run = {
    begunAt: new Map<string, number>(),
    stepNames: new Map<string, string>(),
    devKitSteps: new StepNames(),
    startedAt: undefined,
  };
  return events.flatMap((each) => describeRunEvent(plain, run, each) ?? []);
};

test('a step of the Workflow DevKit has its name, in the events after its first one too', () => {
  const step = { nodeId: 'step_1', event: 'step_created' };
  const lines = linesOf([
    event(0, 'node.queued', { ...step, stepName: 'step//./workflows/order//charge' }),
    event(2, 'node.completed', step),
  ]);
  expect(lines.join('\n')).toMatch(/charge {2}\d/);
  expect(lines.join('\n')).not.toContain('step_1');
});

test('a run has a line for its start, for each node with its duration, and for its end', () => {
  expect(
    linesOf([
      event(0, 'run.started'),
      event(0, 'node.queued', { nodeId: '.workflow-task.1' }),
      event(1, 'node.queued', { nodeId: 'charge' }),
      event(3, 'node.completed', { nodeId: 'charge', attempt: 1 }),
      event(3, 'node.waiting', { nodeId: 'pause', wakeAt: '2026-01-01T00:00:05.000Z' }),
      event(4, 'node.completed', { nodeId: '.workflow-task.1' }),
      event(5, 'node.completed', { nodeId: 'pause' }),
      event(6, 'run.completed'),
    ]),
  ).toEqual([
    '▸ running  run started',
    '✓ completed  charge  2 s',
    '◷ waiting  pause  until 2026-01-01T00:00:05.000Z',
    '✓ completed  pause  2 s',
    '✓ completed  run  6 s',
  ]);
});

test('a failure has its code and message, and a retry says so', () => {
  const failure = { cause: 'provider_error', code: 'http_status', message: 'the status is 503' };
  expect(
    linesOf([
      event(0, 'node.queued', { nodeId: 'call', iteration: 'each:1' }),
      event(1, 'node.retried', { nodeId: 'call', iteration: 'each:1', failure }),
      event(2, 'node.failed', { nodeId: 'call', iteration: 'each:1', failure }),
      event(3, 'run.failed', { error: failure }),
    ]),
  ).toEqual([
    '✗ failed  call [each:1]  http_status: the status is 503  retried',
    '✗ failed  call [each:1]  2 s  http_status: the status is 503',
    '✗ failed  run  http_status: the status is 503',
  ]);
});

test('a step has its name, and a line for each line that it printed', () => {
  expect(
    linesOf([
      event(0, 'node.queued', { nodeId: 's1', step: { key: 'charge' } }),
      event(1, 'node.completed', { nodeId: 's1', attempt: 1, printed: ['one', 'two'] }),
      event(2, 'node.retried', {
        nodeId: 'script',
        attempt: 1,
        printed: ['three'],
        failure: { message: 'no', details: { line: 2 } },
      }),
    ]),
  ).toEqual([
    '· charge  one',
    '· charge  two',
    '✓ completed  charge  1 s',
    '· script  three',
    '✗ failed  script  no, at line 2 of its script  retried',
  ]);
});

/** Publishes the graphs, and starts runs of the first one with a client that is not limited. */
async function service(graphs: Readonly<Record<string, object>>) {
  const environment = createInProcessApi({ sandbox: threadSandbox() });
  const key = await environment.api.key(['admin'], { rateLimitPerMinute: null });
  const client = environment.clientOf(key);
  for (const [name, graph] of Object.entries(graphs))
    await environment.api.call('POST', '/v1/workflows', { key, body: { name, ...graph } });
  const [workflowName = ''] = Object.keys(graphs);
  const start = async (): Promise<string> => (await client.trigger({ workflowName })).runId;
  return { environment, client, start };
}

/** The printed lines, without the time. @param onPause called between two checks; true: the printing ends */
async function printing(
  client: StepwellClient,
  onPause: (checks: number, lines: readonly string[]) => Promise<boolean>,
): Promise<readonly string[]> {
  const lines: string[] = [];
  const interruption = new AbortController();
  let checks = 0;
  await printRunLines(
    {
      ...plain,
      signal: interruption.signal,
      print: (line) => void lines.push(line.replace(/^\S+ +/, '')),
      sleep: async () => {
        if (await onPause((checks += 1), lines)) interruption.abort();
      },
    },
    client,
  );
  return lines;
}

test('more runs than a page of the list has are printed, each once', async () => {
  const { environment, client, start } = await service({ flow: instantGraph() });
  const lines = await printing(client, async (checks) => {
    environment.api.world.clock.advance(minutes(1));
    if (checks === 1) for (let n = 0; n < 130; n += 1) await start();
    return checks === 5;
  });
  const ended = lines.filter((line) => line.includes('✓ completed  run'));
  expect([ended.length, new Set(ended).size]).toEqual([130, 130]);
});

test('of runs that had ended before the start nothing is printed, and of open ones what happens later', async () => {
  const night = {
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'pause', type: 'delay', config: { delayMinutes: 60 } },
      { id: 'end', type: 'end' },
    ],
    edges: [
      { source: 'start', target: 'pause' },
      { source: 'pause', target: 'end' },
    ],
  };
  const { environment, client, start } = await service({ night });
  const run = await start();
  await environment.runToEnd(environment.api.world.clock.sleep(minutes(5), new AbortController().signal));
  const lines = await printing(client, async (checks) => {
    if (checks === 1) await environment.runToEnd(client.result(run));
    return checks === 2;
  });
  expect(lines).toEqual([
    `night ${run}  ✓ completed  pause  1 h`,
    expect.stringContaining('✓ completed  end'),
    `night ${run}  ✓ completed  run  1 h`,
  ]);
});

test('runs that another run called have lines too, with what their scripts printed', async () => {
  const end = { id: 'end', type: 'end' };
  const chain = (node: object) => ({
    nodes: [{ id: 'start', type: 'start' }, { id: 'work', ...node }, end],
    edges: [
      { source: 'start', target: 'work' },
      { source: 'work', target: 'end' },
    ],
  });
  const { environment, client, start } = await service({
    calling: chain({ type: 'subflow', config: { workflowName: 'called' } }),
    called: chain({ type: 'javascript', config: { code: 'console.log("hello");\nreturn 1;' } }),
  });
  const lines = await printing(client, async (checks) => {
    if (checks === 1) await environment.runToEnd(client.result(await start()));
    return checks === 2;
  });
  expect(lines.find((line) => line.startsWith('called') && line.includes('· '))).toMatch(/^called wrun_\w{26}  · work  hello$/);
});
