/** `stepwell mcp`: the tools, through the MCP SDK's own client. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport, getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { StepwellClient } from '../../lib/client/index.ts';
import { createMcpServer } from '../../lib/cli/mcp/server.ts';
import type { KeyScope } from '../../lib/ports/control.ts';
import { type InProcessApi, createInProcessApi, fetchOf } from '../client/in-process.ts';
import { instantGraph, openGraph } from '../functions/http.ts';
import { url } from './test-cli.ts';

let service: InProcessApi;
beforeEach(() => {
  service = createInProcessApi();
});

/** An agent that is connected to the server. */
async function connectAgent(scopes: readonly KeyScope[], { allowsWrites = false } = {}) {
  const { api } = service;
  const client = new StepwellClient({
    baseUrl: url,
    apiKey: await api.key(scopes),
    fetchImpl: fetchOf(api),
  });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const agent = new Client({ name: 'test', version: '1' });
  const server = createMcpServer({ client, now: () => api.world.clock.now() }, { allowsWrites });
  await Promise.all([server.connect(theirs), agent.connect(ours)]);
  const call = async (name: string, input: Record<string, unknown> = {}) => {
    const { content, isError = false } = await agent.callTool({ name, arguments: input });
    const [{ text }] = z.tuple([z.object({ type: z.literal('text'), text: z.string() })]).parse(content);
    return { isError, text };
  };
  const read = async (name: string, input: Record<string, unknown> = {}) => {
    const { isError, text } = await call(name, input);
    return { isError, value: z.record(z.string(), z.unknown()).parse(JSON.parse(text)) };
  };
  return { agent, call, read };
}

const readNames = [
  'explain_run',
  'get_catalogue',
  'get_run',
  'get_workflow',
  'list_apps',
  'list_run_events',
  'list_runs',
  'list_workflows',
  'validate_workflow',
];
const writeNames = ['cancel_run', 'rerun_run', 'start_run', 'test_workflow'];

describe('the tools', () => {
  test('only read by default, and every one says so', async () => {
    const { agent } = await connectAgent(['admin']);
    const { tools } = await agent.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(readNames);
    for (const { name, annotations, description } of tools) {
      expect(annotations, name).toMatchObject({ readOnlyHint: true, destructiveHint: false });
      expect(description, name).toMatch(/\.$/);
    }
  });

  test('with writes, those that change something are marked', async () => {
    const { agent } = await connectAgent(['admin'], { allowsWrites: true });
    const { tools } = await agent.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual([...readNames, ...writeNames].toSorted());
    const writing = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true).map(({ name }) => name);
    expect(writing.toSorted()).toEqual(writeNames);
    expect(tools.find(({ name }) => name === 'cancel_run')?.annotations).toMatchObject({ destructiveHint: true });
    expect(tools.find(({ name }) => name === 'start_run')?.inputSchema).toMatchObject({
      required: ['workflowName'],
      properties: { workflowName: { type: 'string' } },
    });
  });
});

describe('the command', () => {
  test.each([
    [[], readNames],
    [['--allow-writes'], [...readNames, ...writeNames]],
  ])('stepwell mcp %j serves its tools over stdin and stdout', async (options, expected) => {
    const program = fileURLToPath(new URL('../../bin/stepwell-cli.mjs', import.meta.url));
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [program, 'mcp', ...options],
      env: { ...getDefaultEnvironment(), STEPWELL_URL: url, STEPWELL_API_KEY: 'sw_unused' },
      stderr: 'ignore',
    });
    const agent = new Client({ name: 'test', version: '1' });
    await agent.connect(transport);
    const { tools } = await agent.listTools();
    await agent.close();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(expected.toSorted());
  });
});

describe('an agent', () => {
  test('validates, tests and starts a workflow, and explains and cancels the run', async () => {
    const { read } = await connectAgent(['admin'], { allowsWrites: true });
    const broken = { ...instantGraph(), edges: [{ id: 'x', source: 'nothing', target: 'nowhere' }] };
    const validated = await read('validate_workflow', { definition: broken });
    expect(validated.value).toMatchObject({
      valid: false,
      findings: expect.arrayContaining([expect.objectContaining({ pointer: expect.any(String) })]),
    });
    await service.api.call('POST', '/v1/workflows', {
      key: await service.api.key(['admin']),
      body: { name: 'flow', ...openGraph },
    });
    expect((await read('list_workflows')).value).toMatchObject({ data: [expect.objectContaining({ name: 'flow' })] });
    expect((await read('get_workflow', { name: 'flow' })).value).toMatchObject({ name: 'flow' });

    const started = await read('start_run', { workflowName: 'flow', idempotencyKey: 'k1' });
    const runId = z.string().parse(started.value['runId']);
    expect((await read('start_run', { workflowName: 'flow', version: 2 })).value).toMatchObject({ code: 'not_found' });
    expect((await read('get_catalogue')).value).toEqual({ secrets: ['stripe', 'shared'], models: ['fast'], databases: [] });
    expect((await read('start_run', { workflowName: 'flow', idempotencyKey: 'k1' })).value).toMatchObject({ runId });
    expect((await read('list_runs', { workflowName: 'flow' })).value).toMatchObject({
      data: [expect.objectContaining({ runId })],
    });
    expect((await read('get_run', { runId })).value).toMatchObject({ runId });
    expect((await read('explain_run', { runId })).value).toMatchObject({ runId, summary: expect.stringContaining('Node') });
    expect((await read('list_run_events', { runId, limit: 1 })).value).toMatchObject({
      data: [expect.objectContaining({ eventId: 1 })],
    });
    expect((await read('cancel_run', { runId, reason: 'a test' })).isError).toBe(false);
    expect((await read('get_run', { runId })).value).toMatchObject({ status: 'cancelled', cancelReason: 'a test' });
    expect((await read('rerun_run', { runId, fromNode: 'no such node' })).value).toMatchObject({ code: 'not_found' });
    expect((await read('rerun_run', { runId, fromNode: 'a', results: { a: 1 } })).value).toMatchObject({
      code: 'invalid_request',
    });
    expect((await read('rerun_run', { runId })).value).toMatchObject({ runId: expect.not.stringMatching(runId) });
  });

  test('lists runs that another run called on request', async () => {
    const { read } = await connectAgent(['admin'], { allowsWrites: true });
    const key = await service.api.key(['admin']);
    const calling = {
      nodes: [
        { id: 'start', type: 'start' },
        { id: 'call', type: 'subflow', config: { workflowName: 'called' } },
      ],
      edges: [{ source: 'start', target: 'call' }],
    };
    for (const [name, graph] of Object.entries({ called: instantGraph(), calling }))
      await service.api.call('POST', '/v1/workflows', { key, body: { name, ...graph } });
    const { runId } = (await read('start_run', { workflowName: 'calling' })).value;
    await service.runToEnd(service.clientOf(key).result(z.string().parse(runId)));
    const listed = async (query: Record<string, unknown>) =>
      z.object({ data: z.array(z.object({ workflowName: z.string() })) }).parse((await read('list_runs', query)).value).data;
    expect(await listed({})).toEqual([{ workflowName: 'calling' }]);
    expect((await listed({ includeChildren: true })).map(({ workflowName }) => workflowName).toSorted()).toEqual([
      'called',
      'calling',
    ]);
  });

  test('reruns a run on another version of its workflow', async () => {
    const { read } = await connectAgent(['admin'], { allowsWrites: true });
    const key = await service.api.key(['admin']);
    for (const graph of [instantGraph('error'), instantGraph()])
      await service.api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...graph } });
    const first = await read('start_run', { workflowName: 'flow' });
    const rerun = await read('rerun_run', { runId: first.value['runId'], version: 1 });
    expect((await read('get_run', { runId: rerun.value['runId'] })).value).toMatchObject({ workflowVersion: 1 });
    expect((await read('rerun_run', { runId: first.value['runId'], version: 9 })).isError).toBe(true);
  });

  test('tests a graph with pinned outputs, and the test run is deleted afterwards', async () => {
    const { read } = await connectAgent(['admin'], { allowsWrites: true });
    const { value, isError } = await read('test_workflow', { definition: instantGraph(), input: {} });
    expect([isError, value]).toEqual([false, expect.objectContaining({ status: 'completed' })]);
    const gone = await read('get_run', { runId: value['runId'] });
    expect([gone.isError, gone.value]).toEqual([true, expect.objectContaining({ code: 'not_found' })]);
  });

  test('cannot call a tool that writes unless the server allows it', async () => {
    const { agent } = await connectAgent(['admin']);
    const answer = await agent
      .callTool({ name: 'start_run', arguments: { workflowName: 'flow' } })
      .catch((error: unknown) => error);
    expect(JSON.stringify(answer instanceof Error ? answer.message : answer)).toMatch(/start_run/);
    expect((await service.api.call('GET', '/v1/runs', { key: await service.api.key(['admin']) })).body).toMatchObject({
      data: [],
    });
  });

  test('has no more scopes than its key, and reads which one is missing', async () => {
    const { read } = await connectAgent(['workflows:read'], { allowsWrites: true });
    const refused = await read('start_run', { workflowName: 'flow' });
    expect([refused.isError, refused.value]).toEqual([
      true,
      expect.objectContaining({ code: 'missing_scope', required: 'trigger:write' }),
    ]);
    expect((await read('list_workflows')).isError).toBe(false);
  });

  test('reads what is wrong with an argument', async () => {
    const { call } = await connectAgent(['admin']);
    const { isError, text } = await call('get_run', { runId: 'nonsense' });
    expect([isError, text]).toEqual([true, expect.stringContaining('must be a run id')]);
  });
});
