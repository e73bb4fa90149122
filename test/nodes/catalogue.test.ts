import { describe, expect, it } from 'vitest';
import { nodeId } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { memoryLenses } from '../../lib/memory/versions.ts';
import type { Models } from '../../lib/ports/models.ts';
import { nodeTypes } from '../../lib/nodes/node-types.ts';
import { findingsOf, inspectNode } from '../../lib/nodes/catalogue.ts';
import { noModeration } from '../../lib/models/moderation.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { decided, found, inputOf, outputOf, planNode, toolsOf } from './given.ts';

const factsOf = (type: string, config: JsonObject) => inspectNode({ id: nodeId('n'), type, config }).facts;
const branches = [{ id: 'yes', conditions: [{ leftValue: 1, operator: 'equals', rightValue: 1 }] }];
const scripted = [{ id: 'yes', conditions: [{ operator: 'expression', expression: 'ctx.a' }] }];

describe('the handles of a node', () => {
  it.each<[string, JsonObject, readonly string[]]>([
    ['start', {}, ['output']],
    ['end', {}, []],
    ['condition', { branches, defaultBranch: 'no' }, ['yes', 'no', 'error']],
    ['condition', { branches }, ['yes', 'default', 'error']],
    ['javascript', { code: 'return 1' }, ['output', 'error']],
    ['delay', {}, ['output']],
    ['http', { url: 'https://example.com' }, ['output', 'error']],
  ])('%s', (type, config, handles) => {
    expect(factsOf(type, config)?.handles).toEqual(handles);
  });
});

describe('results share a commit by default if a worker only computes the node', () => {
  const isIdempotent = (type: string, config: JsonObject = {}) => planNode(type, config).policy.isIdempotent === true;

  it('those of javascript and condition, whose code runs in the sandbox, and of no other type', () => {
    expect([...nodeTypes.keys()].filter((type) => isIdempotent(type))).toEqual(['condition', 'javascript']);
  });

  it.each(['javascript', 'condition'])('and not those of a %s node with `idempotent: false`', (type) => {
    expect(isIdempotent(type, { idempotent: false })).toBe(false);
  });

  it.each(['http', 'dataQuery', 'lens'])('and those of a %s node with `idempotent: true`', (type) => {
    expect(isIdempotent(type, { idempotent: true })).toBe(true);
  });

  it('a type with this default is not recorded as started before it runs', () => {
    const announced = [...nodeTypes.values()].filter(({ defaults, announcesStart }) => defaults.isIdempotent && announcesStart);
    expect(announced).toEqual([]);
  });
});

it('only start is a trigger', () => {
  const triggers = [...nodeTypes.values()].filter(({ isTrigger }) => isTrigger).map(({ type }) => type);
  expect(triggers).toEqual(['start']);
});

describe('nodes that need no worker are evaluated in the commit', () => {
  it.each<[string, JsonObject, boolean]>([
    ['start', {}, true],
    ['end', {}, true],
    ['delay', {}, true],
    ['condition', { branches }, true],
    ['condition', { branches: scripted }, false],
    ['javascript', { code: 'return 1' }, false],
    ['http', { url: 'https://example.com' }, false],
    ['signal', { name: 'paid' }, true],
    ['subflow', { workflowName: 'ship' }, true],
  ])('%s %j: %s', (type, config, isPure) => {
    expect(planNode(type, config).isPure).toBe(isPure);
  });

  it('every other type has a runner', () => {
    const models: Models = { attachmentError: async () => undefined, execute: () => Promise.reject(new Error('asked')) };
    const runners = createRunners({ lens: { lenses: memoryLenses(), models, moderation: noModeration } });
    const configs: Record<string, JsonObject> = {
      condition: { branches: scripted },
      javascript: { code: 'return 1' },
      http: { url: 'https://example.com' },
      signal: { name: 'paid' },
      subflow: { workflowName: 'ship' },
      loop: { sourceVariable: '{{ctx.input.lines}}' },
      lens: { lens: 'tone' },
    };
    for (const type of nodeTypes.keys()) {
      const { isPure } = planNode(type, configs[type] ?? {});
      expect([type, isPure || runners.has(type)]).toEqual([type, true]);
    }
  });

  it('one config object may serve nodes of several types', () => {
    const shared = {};
    expect(planNode('start', shared).isPure).toBe(true);
    expect(planNode('javascript', shared).isPure).toBe(false);
    expect(factsOf('end', shared)?.handles).toEqual([]);
  });
});

it('an unknown type is a finding and has no facts', () => {
  expect(found('teleport', {})).toEqual(['node_type_unknown /nodes/0/type']);
  expect(factsOf('teleport', {})).toBeUndefined();
});

it('an unknown key is a warning, and the node stays usable', () => {
  const node = { id: nodeId('n'), type: 'delay', config: { delaySecond: 5, retry: { attempt: 1 } } };
  expect(findingsOf(node, '/nodes/3')).toEqual([
    expect.objectContaining({ severity: 'warning', code: 'config_key_unknown', pointer: '/nodes/3/config/retry/attempt' }),
    expect.objectContaining({ severity: 'warning', code: 'config_key_unknown', pointer: '/nodes/3/config/delaySecond' }),
  ]);
  expect(inspectNode(node).facts?.handles).toEqual(['output']);
});

it('templates are checked, except in code', () => {
  expect(found('http', { url: 'https://example.com/{{input.id}}', headers: { 'x-a': '{{ctx.a}' } })).toEqual([
    'template_invalid /nodes/0/config/url',
    'template_invalid /nodes/0/config/headers/x-a',
  ]);
  expect(found('javascript', { code: 'return "{{not a template"' })).toEqual([]);
});

it('a default output variable is not reported as chosen', () => {
  expect(factsOf('javascript', { code: 'return 1' })?.policy).not.toHaveProperty('outputVariable');
  expect(factsOf('javascript', { code: 'return 1', outputVariable: 'mine' })?.policy.outputVariable).toBe('mine');
});

describe('start', () => {
  it('outputs the run’s input', () => {
    expect(decided('start', {}, { input: { a: 1 } })).toEqual({
      kind: 'finished',
      output: { value: { started: true, inputReceived: { a: 1 } } },
      handle: 'output',
    });
    expect(outputOf(decided('start', {}))).toEqual({ started: true, inputReceived: null });
  });
});

describe('end', () => {
  it('collects its output parameters, and has no handles', () => {
    const outputParameters = [
      { name: 'total', sourceVariable: '{{ctx.sum}}' },
      { name: 'text', sourceVariable: 'sum: {{ctx.sum}}' },
      { name: '__proto__', sourceVariable: '{{ctx.nothing}}' },
    ];
    const outcome = decided('end', { outputParameters }, { sum: 12 });
    expect(outcome).toMatchObject({ kind: 'finished', handle: null, end: 'success' });
    expect(JSON.stringify(outputOf(outcome))).toBe('{"total":12,"text":"sum: 12","__proto__":null}');
  });

  it('can fail the run', () => {
    expect(decided('end', { status: 'error' })).toMatchObject({ end: 'error', output: { value: {} } });
  });

  it('requires templates as sources, and unique names', () => {
    const outputParameters = [
      { name: 'a', sourceVariable: 'fixed' },
      { name: '', sourceVariable: '{{ctx.b}}' },
    ];
    expect(found('end', { outputParameters, status: 'fine' })).toEqual([
      'config_invalid /nodes/0/config/status',
      'config_invalid /nodes/0/config/outputParameters/0/sourceVariable',
      'config_invalid /nodes/0/config/outputParameters/1/name',
    ]);
    const twice = [
      { name: 'a', sourceVariable: '{{ctx.b}}' },
      { name: 'a', sourceVariable: '{{ctx.c}}' },
    ];
    expect(found('end', { outputParameters: twice })).toEqual(['config_invalid /nodes/0/config/outputParameters/1/name']);
  });

  it('an output is a template or a constant of any JSON type, and not both', () => {
    const constants = { kind: 'refund', amount: 0, flags: [true, null], note: { of: 'order {{ctx.id}}' } };
    const outputParameters = Object.entries(constants).map(([name, value]) => ({ name, value }));
    expect(decided('end', { outputParameters }, { id: 7 })).toMatchObject({
      output: { value: { ...constants, note: { of: 'order 7' } } },
    });
    expect(found('end', { outputParameters })).toEqual([]);
    const wrong = [{ name: 'none' }, { name: 'both', value: 1, sourceVariable: '{{ctx.id}}' }];
    expect(found('end', { outputParameters: wrong })).toEqual(
      [0, 1].map((index) => `config_invalid /nodes/0/config/outputParameters/${index}/sourceVariable`),
    );
  });
});

it('a runner parses a config as validation does', async () => {
  const run = createRunners().get('javascript')?.run({ code: 5 }, inputOf(), toolsOf());
  expect(await run).toMatchObject({ outcome: { kind: 'failed', failure: { cause: 'invalid', code: 'config_invalid' } } });
});
