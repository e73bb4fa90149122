/** Samples of workflows, lenses and queries for the contract of `VersionStore`. */
import type { WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { lensName, nodeId, queryName, workflowName } from '../../lib/engine/ids.ts';
import type { PostgresQuery, QueryVersion } from '../../lib/engine/query/definition.ts';
import { seconds } from '../../lib/engine/time.ts';
import type { LensVersion } from '../../lib/ports/lenses.ts';
import type { QueryFacts } from '../../lib/ports/versions.ts';
import type { Kind } from './versions.suite.ts';

const noFacts = [{}, {}] as const;

const workflow = (version: number, facts: Partial<WorkflowVersion> = {}): WorkflowVersion => ({
  name: workflowName('order'),
  version,
  nodes: [
    { id: nodeId('start'), type: 'start', config: {} },
    {
      id: nodeId('call'),
      type: 'http',
      label: 'Anrufen ☎',
      config: { url: 'https://example.com/{{ctx.id}}', retry: { attempts: 3 } },
      position: { x: -1.5, y: 200 },
    },
  ],
  edges: [
    { source: nodeId('start'), target: nodeId('call') },
    {
      id: 'e2',
      source: nodeId('start'),
      target: nodeId('call'),
      sourceHandle: 'error',
      sourceOutputKey: 'a.b',
      targetParamLabel: 'input',
      mergeStrategy: 'concat',
      condition: { type: 'equals', value: { a: [1] } },
    },
  ],
  options: { args: [{ name: 'id', type: 'string', required: true, default: 'x' }], deadlineSeconds: 60 },
  ...facts,
});

export const workflows: Kind<WorkflowVersion, object> = {
  plural: 'workflows',
  named: workflowName,
  samples: [
    workflow(1, { nodes: [], edges: [], options: {} }),
    workflow(2, {
      nodes: Array.from({ length: 1_000 }, (_, index) => ({
        id: nodeId(`n${index}`),
        type: 'javascript',
        config: { code: `${index}` },
      })),
    }),
    workflow(3),
  ],
  rival: (index) => workflow(1, { options: { deadlineSeconds: index + 1 } }),
  facts: noFacts,
};

const lens = (version: number, facts: Partial<LensVersion> = {}): LensVersion => ({
  name: lensName('tone'),
  version,
  kind: 'text',
  template: 'Say [[what]] in a [[tone!]] tone',
  description: 'Grüße ☎',
  input: {
    fields: {
      what: {
        type: 'string',
        required: true,
        description: 'd',
        minLength: 1,
        maxLength: 9,
        pattern: '^.',
        enum: ['a'],
      },
      many: { type: 'array', itemType: 'number', min: 1.5, max: 2 },
    },
    requireAnyOf: [['what', 'many']],
    strict: true,
  },
  output: { fields: { score: { type: 'integer' } }, artifactKind: 'json' },
  model: 'default',
  params: { temperature: 0.5, stop: ['x'] },
  ...facts,
});

export const lenses: Kind<LensVersion, object> = {
  plural: 'lenses',
  named: lensName,
  samples: [
    { name: lensName('tone'), version: 1, kind: 'image', template: '' },
    lens(2, { template: 'Über [[it]] ☎ '.repeat(10_000), output: { jsonSchema: { $defs: { a: true } } } }),
    lens(3),
  ],
  rival: (index) => lens(1, { template: `[[n${index}]]` }),
  facts: noFacts,
};

const common = {
  name: queryName('order'),
  parameters: [{ name: 'id', type: 'string', required: true, default: 'x' }],
  maxBytes: 1_000,
  timeoutMs: seconds(5),
} as const;
const query = (version: number, facts: Partial<PostgresQuery> = {}): QueryVersion => ({
  ...common,
  kind: 'postgres',
  connection: 'orders-db',
  statement: 'select * from orders where id = :id -- ☎',
  readOnly: true,
  maxRows: 10,
  version,
  ...facts,
});

export const queries: Kind<QueryVersion, QueryFacts> = {
  plural: 'queries',
  named: queryName,
  samples: [
    query(1),
    query(2, { statement: `select '${'x'.repeat(60_000)}'` }),
    {
      ...common,
      kind: 'http',
      description: 'asks the shop',
      connection: 'https://shop.example.com',
      request: { method: 'POST', path: '/orders/:id', query: { a: [1] }, headers: { b: '{{ctx.id}}' }, body: { c: null } },
      version: 3,
    },
    { ...common, kind: 'aurora', connection: 'orders', statement: 'select 1', readOnly: false, maxRows: 1, version: 4 },
  ],
  rival: (index) => query(1, { description: `no. ${index}` }),
  facts: [{ kind: 'postgres' }, { kind: 'http' }],
};
