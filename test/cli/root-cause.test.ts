/** `explain` and `runs get` name the root cause of a failed run. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { findRootCause, formatRootCause } from '../../lib/cli/actions/root-cause.ts';
import { seconds } from '../../lib/engine/time.ts';
import { threadSandbox } from '../../lib/nodes/sandbox/thread-sandbox.ts';
import { OtherSide, reachOf } from '../nodes/other-side.ts';
import { type CliEnvironment, type TestCli, createCliEnvironment, dataIn } from './test-cli.ts';

const server = new OtherSide();
beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() =>
  server.answers((_request, response) => {
    response.writeHead(402, { 'content-type': 'application/json' });
    response.end('{"error":"card_declined"}');
  }),
);

const sandbox = threadSandbox();
let environment: CliEnvironment;
let admin: TestCli;
let key: string;
beforeEach(async () => {
  environment = createCliEnvironment({ networkAccess: reachOf(), sandbox });
  admin = await environment.cliWithScopes(['admin']);
  key = await environment.api.key(['admin']);
});

type Node = { readonly id: string; readonly type: string; readonly config?: object };

const neverCalled = (): Promise<never> => Promise.reject(new Error('no request is needed'));
const failedCodeRun = {
  runId: 'wrun_01M7XSDTEE14XW69VBQD8BT3DC',
  status: 'failed',
  workflowName: 'order',
  workflowVersion: null,
  deploymentId: 'd1',
  specVersion: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
  deadlineAt: '2026-01-02T00:00:00.000Z',
  nodes: [{ nodeId: 's1', label: 'charge', type: 'function', status: 'failed', attempt: 3 }],
  lastEventId: 9,
} as const;

/** Publishes a graph of nodes and `a>b` or `a/handle>b` edges. */
const publish = async (name: string, nodes: readonly Node[], drawn: string): Promise<void> => {
  const edges = drawn.split(' ').map((pair) => {
    const [from = '', target = ''] = pair.split('>');
    const [source = '', sourceHandle] = from.split('/');
    return { source, target, ...(sourceHandle === undefined ? {} : { sourceHandle }) };
  });
  const { status, body } = await environment.api.call('POST', '/v1/workflows', { key, body: { name, nodes, edges } });
  expect({ status, body }).toMatchObject({ status: 201 });
};
const failedRun = async (name: string, input: unknown = {}): Promise<string> => {
  const { out } = await admin.type('runs', 'start', name, '--input', JSON.stringify(input));
  const { err } = await environment.runToEnd(admin.type('runs', 'result', out.trim()));
  expect(err).toContain('failed');
  return out.trim();
};
const start = { id: 'start', type: 'start' };
const end = { id: 'end', type: 'end' };
const refused = { id: 'refused', type: 'end', config: { status: 'error' } };
const charge = () => ({ id: 'charge', type: 'http', config: { method: 'POST', url: server.url('/charge') } });
const answer =
  'the server returned status 402 (http_status). The server answered: {"error":"card_declined"}. The request was POST http://api.test:';

test('behind an error end, the node from which the error edge leads is the root cause', async () => {
  const note = { id: 'note', type: 'javascript', config: { code: 'return 1;' } };
  await publish('order', [start, charge(), note, end, refused], 'start>charge charge>end charge/error>note note>refused');
  const run = await failedRun('order');
  const explained = await admin.type('explain', run);
  expect(explained.out).toContain(`(ended_in_error). Root cause: node charge: ${answer}`);
  expect((await admin.type('runs', 'get', run)).out).toContain(`cause     node charge: ${answer}`);
  const { body } = await environment.api.call('GET', `/v1/runs/${run}`, { key });
  expect(body['rootCause']).toMatchObject({
    nodeId: 'charge',
    attempt: 1,
    error: { code: 'http_status', details: { status: 402, request: { method: 'POST', url: server.url('/charge') } } },
  });
});

test('a branch that leads to an error end is no failure of an earlier node', async () => {
  const conditions = [{ leftValue: '{{ctx.input.late}}', operator: 'equals', rightValue: true }];
  const branch = { id: 'check', type: 'condition', config: { branches: [{ id: 'late', conditions }] } };
  const drawn = 'start>charge charge/error>check check/late>refused check/default>end charge>end';
  await publish('order', [start, charge(), branch, end, refused], drawn);
  const run = await failedRun('order', { late: true });
  expect((await admin.type('explain', run)).out).not.toContain('node charge');
});

test('in a called run, the failed node of that run is the root cause', async () => {
  await publish('pay', [start, charge(), end], 'start>charge charge>end');
  await publish(
    'middle',
    [start, { id: 'payment', type: 'subflow', config: { workflowName: 'pay' } }, end],
    'start>payment payment>end',
  );
  await publish(
    'order',
    [start, { id: 'call', type: 'subflow', config: { workflowName: 'middle' } }, end],
    'start>call call>end',
  );
  const run = await failedRun('order');
  expect((await admin.type('explain', run)).out).toMatch(
    /Root cause: node charge, called run wrun_\w{26} \(pay\): the server returned status 402/,
  );
});

test('while a node is retried, explain and runs get show what the last attempt sent and received', async () => {
  server.answers((_request, response) => {
    response.writeHead(503, { 'content-type': 'application/json' });
    response.end('{"error":"overloaded"}');
  });
  const patient = {
    id: 'charge',
    type: 'http',
    config: { method: 'POST', url: server.url('/charge'), retry: { attempts: 3, backoffMs: 60_000, maxBackoffMs: 60_000 } },
  };
  await publish('order', [start, patient, end], 'start>charge charge>end');
  const run = (await admin.type('runs', 'start', 'order')).out.trim();
  const { clock } = environment.api.world;
  await environment.runToEnd(clock.sleep(seconds(20), new AbortController().signal));
  const failure =
    'failed: http_status: the server returned status 503. The server answered: {"error":"overloaded"}. The request was POST http://api.test:';
  const explained = await admin.type('explain', run);
  expect(explained.out).toMatch(/^Node charge \(http\) is retried, attempt 2 at /);
  expect(explained.out).toContain(`The previous attempt ${failure}`);
  expect((await admin.type('runs', 'get', run)).out).toContain(`The previous attempt of charge ${failure}`);
  const { nodes } = dataIn(await admin.type('--json', 'explain', run), z.object({ nodes: z.array(z.looseObject({})) }));
  expect(nodes).toMatchObject([{ lastAttempt: { status: 503, body: '{"error":"overloaded"}', request: { method: 'POST' } } }]);
});

test.each([['result'], ['watch']])(
  'runs %s ends with the root cause of a failed run and the command that explains it',
  async (command) => {
    const note = { id: 'note', type: 'javascript', config: { code: 'return 1;' } };
    await publish('order', [start, charge(), note, end, refused], 'start>charge charge>end charge/error>note note>refused');
    const run = (await admin.type('runs', 'start', 'order')).out.trim();
    const { out, err } = await environment.runToEnd(admin.type('runs', command, run));
    expect(out + err).toMatch(
      /failed.*ended_in_error.*\nRoot cause: node charge: the server returned status 402.*\nMore: stepwell explain wrun_\w+\n$/,
    );
  },
);

test('in a loop, the failed node of the failed item is the root cause, with the line of its script', async () => {
  const script = {
    id: 'check',
    type: 'javascript',
    config: { code: 'const order = ctx.order;\nif (order.bad) {\n  order.lines.map((line) => line);\n}\nreturn order;' },
  };
  const each = { id: 'each', type: 'loop', config: { sourceVariable: '{{ctx.input.orders}}', itemVariable: 'order' } };
  await publish('orders', [start, each, script, end], 'start>each each/loop>check each/done>end');
  const run = await failedRun('orders', { orders: [{}, {}, { bad: true }] });
  expect((await admin.type('explain', run)).out).toMatch(
    /Root cause: node check in each\[2\]: .* at line 3, column \d+ of its script\./,
  );
});

test('of a script, the context values that it read are shown', async () => {
  const total = { id: 'total', type: 'javascript', config: { code: 'return ctx.input.lines.length + ctx.rate.value;' } };
  await publish('order', [start, total, end], 'start>total total>end');
  const run = await failedRun('order', { lines: [1, 2] });
  expect((await admin.type('explain', run)).out).toContain(
    'at line 1, column 33 of its script. Its input was {"ctx":{"input":{"lines":[1,2]}},"unset":["rate"]}',
  );
});

test.each([
  [
    'a call that was refused',
    {
      id: 'call',
      type: 'subflow',
      config: { workflowName: 'gone', version: 2, input: { order: '{{ctx.input.id}}', apiKey: 'k' } },
    },
    { id: 7 },
    '{"workflow":"gone","version":2,"input":{"order":7,"apiKey":"[hidden]"}}',
  ],
  [
    'a call whose input is no object',
    { id: 'call', type: 'subflow', config: { workflowName: 'gone', input: '{{ctx.input.list}}' } },
    { list: [1] },
    '{"workflow":"gone","input":[1]}',
  ],
  [
    'an expired wait',
    { id: 'wait', type: 'signal', config: { name: 'paid', correlation: '{{ctx.input.order}}', expiresInSeconds: 1 } },
    { order: 'o-7' },
    '{"signal":"paid","correlation":"o-7"}',
  ],
  [
    'a wait that cannot begin',
    { id: 'wait', type: 'signal', config: { name: 'paid', correlation: '{{ctx.input.order}}' } },
    { order: [7] },
    '{"signal":"paid","correlation":[7]}',
  ],
  [
    'a delay',
    { id: 'nap', type: 'delay', config: { delayType: 'dynamic', delayVariable: '{{ctx.input.wait}}' } },
    { wait: 'soon' },
    '{"delay":"soon"}',
  ],
])('of %s, what it saw after templates is shown', async (_what, node, input, shown) => {
  await publish('order', [start, node, end], `start>${node.id} ${node.id}>end`);
  const run = await failedRun('order', input);
  expect((await admin.type('explain', run)).out).toContain(`Its input was ${shown}`);
});

test('of a loop with too many items, the beginning of its list is shown', async () => {
  const body = { id: 'body', type: 'javascript', config: { code: 'return 1;' } };
  const each = { id: 'each', type: 'loop', config: { sourceVariable: '{{ctx.input.list}}', maxIterations: 2 } };
  await publish('order', [start, each, body, end], 'start>each each/loop>body each/done>end');
  const run = await failedRun('order', { list: ['a', 'b', 'c'] });
  expect((await admin.type('explain', run)).out).toContain('Its input was {"source":["a","b","c"],"items":3}');
});

test('an input in the details of an author’s own error is not shown as what the attempt saw', async () => {
  const error = { code: 'error', cause: 'error', message: 'no', details: { input: { ctx: {}, mine: 1 } } };
  const run = { ...failedCodeRun, error, rootCause: { nodeId: 's1', attempt: 1, error } };
  expect(await findRootCause({ getRun: neverCalled, listRunEvents: neverCalled }, run, {})).not.toHaveProperty('input');
});

test('in nested loops, the innermost failed node is the root cause', async () => {
  const outer = { id: 'outer', type: 'loop', config: { sourceVariable: '{{ctx.input.groups}}', itemVariable: 'group' } };
  const inner = {
    id: 'inner',
    type: 'loop',
    config: { sourceVariable: '{{ctx.group}}', itemVariable: 'order', indexVariable: 'n' },
  };
  await publish('orders', [start, outer, inner, charge(), end], 'start>outer outer/loop>inner inner/loop>charge outer/done>end');
  const run = await failedRun('orders', { groups: [[], [7]] });
  expect((await admin.type('explain', run)).out).toContain(`Root cause: node charge in outer[1]/inner[0]: ${answer}`);
});

test('of a code run, the author’s file and line are named', async () => {
  const details = { at: 'workflows/order.ts:12:7', step: 'charge' };
  const error = { code: 'error', cause: 'error', message: 'the card is empty', details };
  const run = { ...failedCodeRun, error, rootCause: { nodeId: 's1', attempt: 3, error } };
  const unused = { getRun: neverCalled, listRunEvents: neverCalled };
  const cause = await findRootCause(unused, run, {});
  expect(cause === undefined ? '' : formatRootCause(cause)).toBe(
    'step charge, attempt 3: the card is empty (error), at workflows/order.ts:12:7.',
  );
});

test('runs that another run called are hidden from lists unless requested, and name their caller', async () => {
  await publish('pay', [start, charge(), end], 'start>charge charge>end');
  await publish('order', [start, { id: 'call', type: 'subflow', config: { workflowName: 'pay' } }, end], 'start>call call>end');
  const run = await failedRun('order');
  const listed = await admin.type('runs', 'list');
  expect(listed.out).toContain(run);
  expect(listed.out).not.toContain('pay@1');
  const all = await admin.type('runs', 'list', '--children');
  const [child = ''] = /wrun_\w{26}(?=.*pay@1)/.exec(all.out) ?? [];
  expect((await admin.type('runs', 'get', child)).out).toContain(`called by node call of ${run}`);
  expect((await admin.type('runs', 'get', run)).out).toMatch(new RegExp(`call +subflow .*failed.*called ${child}`));
});

test('a loop names its failed items, and nodes show their outputs', async () => {
  const each = { id: 'each', type: 'loop', config: { sourceVariable: '{{ctx.input.orders}}', onItemFailure: 'continue' } };
  const check = {
    id: 'check',
    type: 'javascript',
    config: { code: 'if (ctx.item < 0) throw new Error("negative");\nreturn ctx.item;' },
  };
  await publish('orders', [start, each, check, end], 'start>each each/loop>check each/done>end');
  const { out } = await admin.type('runs', 'start', 'orders', '--input', '{"orders":[-1,2,-3]}');
  await environment.runToEnd(admin.type('runs', 'result', out.trim()));
  expect((await admin.type('runs', 'get', out.trim())).out).toMatch(
    /each +loop .*3 of 3 items, 2 failed: items 0, 2, \[\{"success":false/,
  );
});
