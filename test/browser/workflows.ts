/** Workflows whose runs show each kind of page: one that fails after retries, one that waits for a signal, one that sleeps. */
const edge = (source: string, target: string, sourceHandle?: string) => ({
  source,
  target,
  ...(sourceHandle === undefined ? {} : { sourceHandle }),
});

/** `charge` fails in each attempt; `receipt` is never reached, and `notify` completes beside it. */
export const invoice = {
  name: 'invoice',
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'price',
      type: 'javascript',
      label: 'Price the order',
      config: { code: "console.log('pricing', ctx.input.orderId);\nreturn ctx.input.quantity * 50", outputVariable: 'total' },
    },
    {
      id: 'charge',
      type: 'javascript',
      label: 'Charge the card',
      config: {
        code: "console.log('charging', ctx.total);\nthrow new Error('the card ending in 4242 was declined')",
        outputVariable: 'charged',
        retry: { attempts: 3, backoffMs: 400, maxBackoffMs: 800 },
      },
    },
    { id: 'notify', type: 'javascript', label: 'Notify the shop', config: { code: 'return true', outputVariable: 'notified' } },
    { id: 'receipt', type: 'javascript', label: 'Send the receipt', config: { code: 'return true', outputVariable: 'sent' } },
    { id: 'end', type: 'end' },
  ],
  edges: [
    edge('start', 'price'),
    edge('price', 'charge'),
    edge('price', 'notify'),
    edge('charge', 'receipt'),
    edge('receipt', 'end'),
    edge('notify', 'end'),
  ],
};

/** `charge` fails. Its second and last attempt is due in ten minutes. */
export const recovering = {
  name: 'card-retry',
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'charge',
      type: 'javascript',
      label: 'Charge the card',
      config: {
        code: "throw new Error('the card service is down')",
        retry: { attempts: 2, backoffMs: 600_000, maxBackoffMs: 600_000 },
      },
    },
    { id: 'end', type: 'end' },
  ],
  edges: [edge('start', 'charge'), edge('charge', 'end')],
};

export const nap = {
  name: 'nightly-report',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'pause', type: 'delay', label: 'Wait for the night', config: { delayMinutes: 60, outputVariable: 'slept' } },
    { id: 'end', type: 'end' },
  ],
  edges: [edge('start', 'pause'), edge('pause', 'end')],
};

export const approval = {
  name: 'order-approval',
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'approved',
      type: 'signal',
      label: 'Manager approves',
      config: { name: 'order-approved', correlation: '{{ctx.input.orderId}}', outputVariable: 'approval' },
    },
    { id: 'end', type: 'end' },
  ],
  edges: [edge('start', 'approved'), edge('approved', 'end')],
};
