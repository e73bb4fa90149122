/** The measured workflows. Their nodes do nothing, so that only the overhead of the platform is measured. */

interface NoOp {
  readonly id: string;
  readonly type: 'javascript';
  readonly config: { readonly code: string; readonly idempotent?: false; readonly retry?: { readonly attempts: 1 } };
}
const noOp = (id: string): NoOp => ({ id, type: 'javascript', config: { code: 'return 1' } });
/** Stands for a node with side effects: its result has a commit of its own. */
const effect = (id: string): NoOp => ({ id, type: 'javascript', config: { code: 'return 1', idempotent: false } });
const edges = (ids: readonly string[]) => ids.slice(1).map((target, at) => ({ source: ids[at] ?? '', target }));
const numbered = (count: number) => Array.from({ length: count }, (_one, at) => `n${at + 1}`);

/** One endless script. */
export const endless = {
  name: 'endless',
  nodes: [{ id: 'loop', type: 'javascript', config: { code: 'for (;;) {}' } }],
  edges: [],
};

/** Sequential scripts; each is executed, and their results share commits. */
export function chain(length: number) {
  const ids = numbered(length);
  return { name: `chain-${length}`, nodes: ids.map(noOp), edges: edges(ids) };
}

/** The same with a commit for each node. */
export function chainOfEffects(length: number) {
  const ids = numbered(length);
  return { name: `chain-${length}-of-effects`, nodes: ids.map(effect), edges: edges(ids) };
}

/** A node, a wait for the signal `go` of the run, and a node. */
export const effectWaiter = {
  name: 'waiter-of-effects',
  nodes: [effect('before'), { id: 'signal', type: 'signal', config: { name: 'go' } }, effect('after')],
  edges: edges(['before', 'signal', 'after']),
};

/** A called run of one node. */
export const effectChild = { name: 'child-of-effects', nodes: [effect('only')], edges: [] };

/** A node, a call of another workflow, and a node. */
export const effectCaller = {
  name: 'caller-of-effects',
  nodes: [effect('before'), { id: 'call', type: 'subflow', config: { workflowName: effectChild.name } }, effect('after')],
  edges: edges(['before', 'call', 'after']),
};

/** Scripts, of which the last one fails the run. */
export function failingChain(length: number) {
  const ids = numbered(length - 1);
  const broken: NoOp = {
    id: 'broken',
    type: 'javascript',
    config: { code: 'throw new Error("broken")', retry: { attempts: 1 } },
  };
  return { name: `chain-${length}-failed`, nodes: [...ids.map(noOp), broken], edges: edges([...ids, broken.id]) };
}

/** Nodes with side effects between a start and an end node, which are pure. */
export function chainWithEnds(length: number) {
  const ids = numbered(length - 2);
  return {
    name: `chain-${length}-with-ends`,
    nodes: [{ id: 'start', type: 'start' }, ...ids.map(effect), { id: 'end', type: 'end' }],
    edges: edges(['start', ...ids, 'end']),
  };
}

/** A node, a sleep beyond the SQS maximum, and a node. */
export const sleeper = {
  name: 'sleep-20-minutes',
  nodes: [noOp('before'), { id: 'sleep', type: 'delay', config: { delayType: 'fixed', delayMinutes: 20 } }, noOp('after')],
  edges: edges(['before', 'sleep', 'after']),
};

/** Parallel branches and a join. */
export function fan(branches: number) {
  const ids = numbered(branches);
  return {
    name: `fan-${branches}`,
    nodes: [...ids.map(noOp), noOp('join')],
    edges: ids.map((source) => ({ source, target: 'join' })),
  };
}

/** A loop with one node per item, and a commit for each node if they have side effects. */
export function looped(items: number, { concurrency = 1, hasEffects = false } = {}) {
  return {
    name: `looped-${items}${concurrency === 1 ? '' : `-by-${concurrency}`}${hasEffects ? '-of-effects' : ''}`,
    nodes: [
      { id: 'items', type: 'javascript', config: { code: `return Array.from({ length: ${items} }, (_, at) => at)` } },
      {
        id: 'each',
        type: 'loop',
        config: { sourceVariable: '{{ctx.jsResult}}', maxIterations: items, concurrency },
      },
      hasEffects ? effect('one') : noOp('one'),
      { id: 'end', type: 'end' },
    ],
    edges: [
      { source: 'items', target: 'each' },
      { source: 'each', target: 'one', sourceHandle: 'loop' },
      { source: 'each', target: 'end', sourceHandle: 'done' },
    ],
  };
}

export interface Lens {
  readonly name: string;
  readonly template: string;
  readonly params: Readonly<Record<string, string | number>>;
}

/** Twenty tokens per word: the deterministic model pauses after words, and a pause of 2.5 ms would be inaccurate. */
const twentyTokens = 'to-be-or-not-to-be-that-is-the-question-asked-by-him-who-is-not-so-sure-of-it';
/** 2,000 tokens at 400 a second, the speed of fast models. */
export const fastLens: Lens = {
  name: 'speech',
  template: 'Speak',
  params: { reply: Array.from({ length: 100 }, () => twentyTokens).join(' '), delayMs: 50 },
};

/** One lens node with a token stream. */
export const fastLensWorkflow = {
  name: 'lens-2000-tokens',
  nodes: [{ id: 'say', type: 'lens', config: { lens: fastLens.name } }],
  edges: edges(['say']),
};

/** Milliseconds; no divisor of the write or poll interval, so that words are spread over the interval. */
export const wordPauseMs = 23;
/** Single words with a pause after each. */
export const slowLens = (words: number): Lens => ({
  name: 'talk',
  template: 'Talk',
  params: { reply: Array.from({ length: words }, (_one, at) => `w${at}`).join(' '), delayMs: wordPauseMs },
});
export const slowLensWorkflow = {
  name: 'talking',
  nodes: [{ id: 'say', type: 'lens', config: { lens: 'talk' } }],
  edges: edges(['say']),
};

export type Workflow =
  | ReturnType<typeof looped>
  | ReturnType<typeof chain>
  | ReturnType<typeof chainWithEnds>
  | typeof sleeper
  | typeof effectWaiter
  | typeof effectChild
  | typeof effectCaller
  | typeof fastLensWorkflow
  | typeof slowLensWorkflow;
