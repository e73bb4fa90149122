/** Definitions that are invalid, too large, or request something forbidden. */

const start = { id: 'start', type: 'start' };

/** A chain from a start to an end, with `middle` between them. */
export function chain(name: string, middle: readonly { readonly id: string; readonly type: string; readonly config?: object }[]) {
  const nodes = [start, ...middle, { id: 'end', type: 'end' }];
  return { name, nodes, edges: nodes.slice(1).map(({ id }, at) => ({ source: nodes[at]?.id ?? '', target: id })) };
}

/**
 * One script with one attempt. Its error edge leads to a separate end node, which returns the error from the context.
 * `timeoutSeconds` is the node's.
 */
export const scripted = (name: string, code: string, timeoutSeconds = 30) => ({
  name,
  nodes: [
    start,
    { id: 'script', type: 'javascript', config: { code, outputVariable: 'result', timeoutSeconds, retry: { attempts: 1 } } },
    { id: 'good', type: 'end' },
    { id: 'bad', type: 'end', config: { outputParameters: [{ name: 'found', sourceVariable: '{{ctx.result}}' }] } },
  ],
  edges: [
    { source: 'start', target: 'script' },
    { source: 'script', target: 'good' },
    { source: 'script', target: 'bad', sourceHandle: 'error' },
  ],
});

export const httpWorkflow = (name: string, url: string) => chain(name, [{ id: 'ask', type: 'http', config: { url } }]);

/** A regular expression with exponential backtracking in other engines. */
export const backtracking = (name: string, pattern: string) => ({
  name,
  nodes: [
    start,
    {
      id: 'match',
      type: 'condition',
      config: {
        branches: [
          { id: 'yes', conditions: [{ leftValue: '{{ctx.input.text}}', operator: 'matches_regex', rightValue: pattern }] },
        ],
        defaultBranch: 'no',
      },
    },
    { id: 'matched', type: 'end' },
    { id: 'unmatched', type: 'end' },
  ],
  edges: [
    { source: 'start', target: 'match' },
    { source: 'match', target: 'matched', sourceHandle: 'yes' },
    { source: 'match', target: 'unmatched', sourceHandle: 'no' },
  ],
});

/** A chain of `count` nodes. Every hundredth is a script; the others run inline. */
export const longChain = (name: string, count: number) =>
  chain(
    name,
    Array.from({ length: count - 2 }, (_, at) =>
      at % 100 === 0
        ? { id: `n${at}`, type: 'javascript', config: { code: 'return (ctx.n ?? 0) + 1', outputVariable: 'n' } }
        : { id: `n${at}`, type: 'delay', config: {} },
    ),
  );

/** Enough sibling nodes that their results are collected in batches; each returns the run's whole input. */
export const repeatedEchoes = (name: string, count: number) => {
  const ids = Array.from({ length: count }, (_, at) => `echo${at}`);
  return {
    name,
    nodes: [
      start,
      ...ids.map((id) => ({ id, type: 'javascript', config: { code: 'return ctx.input' } })),
      { id: 'end', type: 'end', config: { outputParameters: [{ name: 'input', sourceVariable: '{{ctx.input}}' }] } },
    ],
    edges: ids.flatMap((id) => [
      { source: 'start', target: id },
      { source: id, target: 'end' },
    ]),
  };
};
