/** The graphs of the load: all shapes that a kill can interrupt, with the predicted outcome for an input `n`. */
import { effectServerUrl } from './effect-server-address.ts';

type Foretold = { readonly status: 'completed'; readonly output: unknown } | { readonly status: 'failed'; readonly code: string };

export interface Graph {
  readonly definition: { readonly name: string; readonly nodes: readonly Node[]; readonly edges: readonly Edge[] };
  input(n: number): Readonly<Record<string, unknown>>;
  /** undefined: it does not end without a cancellation */
  foretold(n: number): Foretold | undefined;
  /** the signal that it waits for */
  readonly signal?: string;
}

interface Node {
  readonly id: string;
  readonly type: string;
  readonly config?: Readonly<Record<string, unknown>>;
}
interface Edge {
  readonly source: string;
  readonly target: string;
  readonly sourceHandle?: string;
}

/** Requests the effect server, which returns the value. */
const ask = (id: string, value: string, { ms = 10, fails = 0 } = {}, more: object = {}): Node => ({
  id,
  type: 'http',
  config: {
    method: 'POST',
    url: `${effectServerUrl}/work`,
    query: { value, ms: String(ms), fails: String(fails) },
    body: {},
    outputVariable: id,
    ...more,
  },
});
const script = (id: string, code: string, more: object = {}): Node => ({
  id,
  type: 'javascript',
  config: { code, outputVariable: id, ...more },
});
const pause = (id: string, delaySeconds: number, delayMinutes = 0): Node => ({
  id,
  type: 'delay',
  config: { delayType: 'fixed', delaySeconds, delayMinutes },
});
const start: Node = { id: 'start', type: 'start' };
const end = (name: string, from: string, more: object = {}): Node => ({
  id: 'end',
  type: 'end',
  config: { outputParameters: [{ name, sourceVariable: `{{ctx.${from}}}` }], ...more },
});
const chain = (...ids: readonly string[]): readonly Edge[] =>
  ids.slice(1).map((target, at) => ({ source: ids[at] ?? '', target }));
const inputOf = (n: number) => ({ n });
const gives =
  (name: string, of: (n: number) => unknown) =>
  (n: number): Foretold => ({ status: 'completed', output: { [name]: of(n) } });

const n = '{{ctx.input.n}}';
const branches = Array.from({ length: 11 }, (_one, at) => `branch${at}`);
const links = Array.from({ length: 16 }, (_one, at) => `link${at}`);

export const graphs: readonly Graph[] = [
  {
    definition: {
      name: 'kill-chain',
      nodes: [
        start,
        ask('a', n),
        script('b', 'return ctx.a.body.value + 1'),
        ask('c', '{{ctx.b}}'),
        script('d', 'return ctx.c.body.value * 2'),
        end('d', 'd'),
      ],
      edges: chain('start', 'a', 'b', 'c', 'd', 'end'),
    },
    input: inputOf,
    foretold: gives('d', (of) => 2 * (of + 1)),
  },
  {
    // more than eight parallel nodes: their results are collected
    definition: {
      name: 'kill-fan',
      nodes: [
        start,
        ...branches.map((id, at) => ask(id, n, { ms: at * 7 })),
        script('sum', `return ${branches.map((id) => `ctx.${id}.body.value`).join(' + ')}`),
        end('sum', 'sum'),
      ],
      edges: [...branches.flatMap((id) => chain('start', id, 'sum')), ...chain('sum', 'end')],
    },
    input: inputOf,
    foretold: gives('sum', (of) => branches.length * of),
  },
  {
    definition: {
      name: 'kill-loop',
      nodes: [
        start,
        { id: 'each', type: 'loop', config: { sourceVariable: '{{ctx.input.items}}', outputVariable: 'all', concurrency: 2 } },
        ask('asked', '{{ctx.item}}'),
        script('twice', 'return ctx.asked.body.value * 2'),
        end('all', 'all'),
      ],
      edges: [
        ...chain('start', 'each'),
        { source: 'each', target: 'asked', sourceHandle: 'loop' },
        ...chain('asked', 'twice'),
        { source: 'each', target: 'end', sourceHandle: 'done' },
      ],
    },
    input: (of) => ({ n: of, items: [0, 1, 2, 3, 4].map((at) => of + at) }),
    foretold: gives('all', (of) => [0, 1, 2, 3, 4].map((at) => 2 * (of + at))),
  },
  {
    definition: {
      name: 'kill-delays',
      nodes: [
        start,
        pause('short', 1),
        ask('a', n),
        pause('long', 30, 1),
        script('b', 'return ctx.a.body.value + 2'),
        end('b', 'b'),
      ],
      edges: chain('start', 'short', 'a', 'long', 'b', 'end'),
    },
    input: inputOf,
    foretold: gives('b', (of) => of + 2),
  },
  {
    // longer than SQS's maximum delay: it needs a schedule
    definition: {
      name: 'kill-long-delay',
      nodes: [start, pause('long', 10, 15), ask('a', n), end('a', 'a.body.value')],
      edges: chain('start', 'long', 'a', 'end'),
    },
    input: inputOf,
    foretold: gives('a', (of) => of),
  },
  {
    definition: {
      name: 'kill-signal',
      nodes: [
        start,
        ask('before', n),
        { id: 'heard', type: 'signal', config: { name: 'go', correlation: 'thing-{{ctx.input.n}}', outputVariable: 'heard' } },
        ask('after', '{{ctx.heard.payload.n}}'),
        end('heard', 'after.body.value'),
      ],
      edges: chain('start', 'before', 'heard', 'after', 'end'),
    },
    input: inputOf,
    foretold: gives('heard', (of) => of),
    signal: 'go',
  },
  {
    definition: {
      name: 'kill-subflow',
      nodes: [
        start,
        { id: 'graph', type: 'subflow', config: { workflowName: 'leaf-graph', input: { n }, outputVariable: 'graph' } },
        { id: 'code', type: 'subflow', config: { workflowName: 'leaf-code', input: {}, outputVariable: 'code' } },
        script('both', 'return [ctx.graph.leaf, ctx.code]'),
        end('both', 'both'),
      ],
      edges: chain('start', 'graph', 'code', 'both', 'end'),
    },
    input: inputOf,
    foretold: gives('both', (of) => [of, 'did 0']),
  },
  {
    definition: {
      name: 'kill-retries',
      nodes: [
        start,
        ask('flaky', n, { fails: 2 }, { retry: { attempts: 3, backoffMs: 300, maxBackoffMs: 1_000 } }),
        script('broken', 'throw new Error(`no ${ctx.input.n}`)', {
          retry: { attempts: 2, backoffMs: 1_000, maxBackoffMs: 1_000 },
        }),
        script('recovered', 'return [ctx.flaky.body.value, ctx.broken.success]'),
        end('recovered', 'recovered'),
      ],
      edges: [
        ...chain('start', 'flaky', 'broken'),
        { source: 'broken', target: 'recovered', sourceHandle: 'error' },
        ...chain('recovered', 'end'),
      ],
    },
    input: inputOf,
    foretold: gives('recovered', (of) => [of, false]),
  },
  {
    definition: {
      name: 'kill-any',
      nodes: [
        start,
        ask('quick', n, { ms: 5 }),
        ask('slow', n, { ms: 250 }),
        script('first', 'return "joined"', { joinMode: 'any' }),
        ask('behind', n),
        end('first', 'first'),
      ],
      edges: [...chain('start', 'quick', 'first'), ...chain('start', 'slow', 'first', 'behind', 'end')],
    },
    input: inputOf,
    foretold: gives('first', () => 'joined'),
  },
  {
    // one invocation runs them all, and may be killed at each
    definition: {
      name: 'kill-links',
      nodes: [
        start,
        ...links.map((id, at) => script(id, `return (${at === 0 ? 'ctx.input.n' : `ctx.${links[at - 1]}`}) + 1`)),
        end('last', links.at(-1) ?? ''),
      ],
      edges: chain('start', ...links, 'end'),
    },
    input: inputOf,
    foretold: gives('last', (of) => of + links.length),
  },
  {
    definition: {
      name: 'kill-bad-end',
      nodes: [start, ask('a', n), end('a', 'a.body.value', { status: 'error' })],
      edges: chain('start', 'a', 'end'),
    },
    input: inputOf,
    foretold: () => ({ status: 'failed', code: 'ended_in_error' }),
  },
  {
    definition: {
      name: 'kill-endless',
      nodes: [start, ask('a', n), { id: 'never', type: 'signal', config: { name: 'never' } }, end('a', 'a.body.value')],
      edges: chain('start', 'a', 'never', 'end'),
    },
    input: inputOf,
    foretold: () => undefined,
  },
];

/** Only called as a child workflow. */
export const leafGraph = {
  name: 'leaf-graph',
  nodes: [start, ask('asked', n), end('leaf', 'asked.body.value')],
  edges: chain('start', 'asked', 'end'),
};

/** Whether a node of the graph has an external effect. */
export const callsEffectServer = (workflowName: string, nodeId: string): boolean =>
  [leafGraph, ...graphs.map(({ definition }) => definition)].some(
    ({ name, nodes }) => name === workflowName && nodes.some(({ id, type }) => id === nodeId && type === 'http'),
  );
