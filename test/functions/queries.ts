/** Queries that tests publish. */

export const findOrder = {
  name: 'find-order',
  kind: 'postgres',
  connection: 'orders-db',
  statement: 'select id, total from orders where customer = :customer and total > :least',
  parameters: [
    { name: 'customer', type: 'string', required: true },
    { name: 'least', type: 'number', default: 0 },
  ],
} as const;

/** Asked by the Data API. */
export const findInAurora = { ...findOrder, name: 'find-in-aurora', kind: 'aurora', connection: 'orders' } as const;

export const askShop = {
  name: 'ask-shop',
  kind: 'http',
  connection: 'https://shop.example.com/v2',
  request: {
    method: 'POST',
    path: '/orders/:id/notes',
    query: { tag: '{{ctx.tag}}' },
    headers: { authorization: 'Bearer {{secret:shop}}' },
    body: { text: '{{ctx.text}}' },
  },
  parameters: [
    { name: 'id', type: 'string', required: true },
    { name: 'tag', type: 'string' },
    { name: 'text', type: 'string', default: 'none' },
  ],
} as const;
