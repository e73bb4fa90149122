/** The node types as the editor offers them: a name, what it does, and the config that a new node begins with. */
import type { JsonObject } from '../../engine/json.ts';

export interface NodeTemplate {
  readonly type: string;
  readonly title: string;
  readonly summary: string;
  /** the begin of the ids of new nodes */
  readonly idBase: string;
  readonly config: JsonObject;
  /** a new node writes its output under its id */
  readonly writes?: true;
}

export const nodeTemplates: readonly NodeTemplate[] = [
  { type: 'start', title: 'Start', summary: 'begins the run', idBase: 'start', config: {} },
  {
    type: 'javascript',
    title: 'Script',
    summary: 'computes a value in JavaScript',
    idBase: 'script',
    config: { code: 'return ctx.input' },
    writes: true,
  },
  {
    type: 'http',
    title: 'HTTP request',
    summary: 'calls a service',
    idBase: 'request',
    config: { method: 'GET', url: 'https://example.com/' },
    writes: true,
  },
  {
    type: 'condition',
    title: 'Condition',
    summary: 'takes one of several branches',
    idBase: 'condition',
    config: {
      branches: [{ id: 'yes', conditions: [{ leftValue: '{{ctx.input}}', operator: 'is_not_empty' }] }],
      defaultBranch: 'no',
    },
  },
  {
    type: 'loop',
    title: 'Loop',
    summary: 'runs its body for each item',
    idBase: 'loop',
    config: { sourceVariable: '{{ctx.input.items}}' },
    writes: true,
  },
  { type: 'delay', title: 'Delay', summary: 'waits for a time', idBase: 'delay', config: { delayMinutes: 1 } },
  {
    type: 'signal',
    title: 'Signal',
    summary: 'waits for an approval or an event',
    idBase: 'signal',
    config: { name: 'approved', correlation: '{{ctx.input.id}}' },
    writes: true,
  },
  {
    type: 'subflow',
    title: 'Subflow',
    summary: 'calls another workflow',
    idBase: 'subflow',
    config: { workflowName: 'other' },
    writes: true,
  },
  {
    type: 'dataQuery',
    title: 'Data query',
    summary: 'runs a stored query',
    idBase: 'query',
    config: { query: 'my-query' },
    writes: true,
  },
  {
    type: 'lens',
    title: 'Lens',
    summary: 'calls a model with a prompt',
    idBase: 'lens',
    config: { lens: 'my-lens' },
    writes: true,
  },
  { type: 'end', title: 'End', summary: 'ends its branch with the output', idBase: 'end', config: {} },
];

export const templateOf = (type: string): NodeTemplate =>
  nodeTemplates.find((each) => each.type === type) ?? { type, title: type, summary: '', idBase: type, config: {} };
