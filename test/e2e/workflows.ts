/** Definitions for the end-to-end tests. */

export const orderTotal = {
  name: 'order-total',
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'price',
      type: 'javascript',
      config: { code: 'return ctx.input.items.reduce((sum, i) => sum + i.qty * i.price, 0)', outputVariable: 'total' },
    },
    {
      id: 'big',
      type: 'condition',
      config: {
        branches: [{ id: 'yes', conditions: [{ leftValue: '{{ctx.total}}', operator: 'greater_than', rightValue: 100 }] }],
        defaultBranch: 'no',
      },
    },
    { id: 'discount', type: 'javascript', config: { code: 'return ctx.total * 0.9', outputVariable: 'due' } },
    { id: 'full', type: 'javascript', config: { code: 'return ctx.total', outputVariable: 'due' } },
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'due', sourceVariable: '{{ctx.due}}' }] } },
  ],
  edges: [
    { source: 'start', target: 'price' },
    { source: 'price', target: 'big' },
    { source: 'big', target: 'discount', sourceHandle: 'yes' },
    { source: 'big', target: 'full', sourceHandle: 'no' },
    { source: 'discount', target: 'end' },
    { source: 'full', target: 'end' },
  ],
};

/** Two branches with a join, and a pause in one: a run is open for some seconds, with messages and timers. */
export const pauseAndJoin = {
  name: 'pause-and-join',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'double', type: 'javascript', config: { code: 'return ctx.input.n * 2', outputVariable: 'doubled' } },
    { id: 'pause', type: 'delay', config: { delayType: 'fixed', delaySeconds: 8 } },
    { id: 'square', type: 'javascript', config: { code: 'return ctx.input.n * ctx.input.n', outputVariable: 'squared' } },
    { id: 'sum', type: 'javascript', config: { code: 'return ctx.doubled + ctx.squared', outputVariable: 'sum' } },
    { id: 'end', type: 'end', config: { outputParameters: [{ name: 'sum', sourceVariable: '{{ctx.sum}}' }] } },
  ],
  edges: [
    { source: 'start', target: 'double' },
    { source: 'start', target: 'pause' },
    { source: 'pause', target: 'square' },
    { source: 'double', target: 'sum' },
    { source: 'square', target: 'sum' },
    { source: 'sum', target: 'end' },
  ],
};
