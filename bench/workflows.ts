/** The workflows that are measured. Their nodes do nothing, so that what is counted is what the product adds. */

const noOp = (id: string) => ({ id, type: 'javascript', config: { code: 'return 1' } });
const edges = (ids: readonly string[]) => ids.slice(1).map((target, at) => ({ source: ids[at] ?? '', target }));
const numbered = (count: number) => Array.from({ length: count }, (_one, at) => `n${at + 1}`);

/** One script that never ends by itself. */
export const endless = {
  name: 'endless',
  nodes: [{ id: 'loop', type: 'javascript', config: { code: 'for (;;) {}' } }],
  edges: [],
};

/** Nodes one after the other, each of which is executed. */
export function chain(length: number) {
  const ids = numbered(length);
  return { name: `chain-${length}`, nodes: ids.map(noOp), edges: edges(ids) };
}

/** The same number of nodes, the first and the last of which are only decided. */
export function chainWithEnds(length: number) {
  const ids = numbered(length - 2);
  return {
    name: `chain-${length}-with-ends`,
    nodes: [{ id: 'start', type: 'start' }, ...ids.map(noOp), { id: 'end', type: 'end' }],
    edges: edges(['start', ...ids, 'end']),
  };
}

/** One node before a sleep that only EventBridge Scheduler is long enough for, and one after it. */
export const sleeper = {
  name: 'sleep-20-minutes',
  nodes: [noOp('before'), { id: 'sleep', type: 'delay', config: { delayType: 'fixed', delayMinutes: 20 } }, noOp('after')],
  edges: edges(['before', 'sleep', 'after']),
};

/** Branches that begin together, and one node that waits for all of them. */
export function fan(branches: number) {
  const ids = numbered(branches);
  return {
    name: `fan-${branches}`,
    nodes: [...ids.map(noOp), noOp('join')],
    edges: ids.map((source) => ({ source, target: 'join' })),
  };
}

/** One node, executed for each item of an array. */
export function looped(items: number, concurrency = 1) {
  return {
    name: concurrency === 1 ? `looped-${items}` : `looped-${items}-by-${concurrency}`,
    nodes: [
      { id: 'items', type: 'javascript', config: { code: `return Array.from({ length: ${items} }, (_, at) => at)` } },
      {
        id: 'each',
        type: 'loop',
        config: { sourceVariable: '{{ctx.jsResult}}', maxIterations: items, concurrency },
      },
      noOp('one'),
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

/** Twenty tokens as one word: the deterministic model pauses behind words, and a pause of 2.5 ms would be late each time. */
const twentyTokens = 'to-be-or-not-to-be-that-is-the-question-asked-by-him-who-is-not-so-sure-of-it';
/** What says 2,000 tokens at 400 a second, as fast as models are. */
export const fastLens: Lens = {
  name: 'speech',
  template: 'Speak',
  params: { reply: Array.from({ length: 100 }, () => twentyTokens).join(' '), delayMs: 50 },
};

/** One node that has a model speak, and shows it as it comes. */
export const fastLensWorkflow = {
  name: 'lens-2000-tokens',
  nodes: [{ id: 'say', type: 'lens', config: { lens: fastLens.name } }],
  edges: edges(['say']),
};

/** Milliseconds. Not a part of the pause between two writes or two looks: words fall everywhere between them. */
export const wordPauseMs = 23;
/** Words one by one, each a pause behind the one before. */
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
  | typeof fastLensWorkflow
  | typeof slowLensWorkflow;
