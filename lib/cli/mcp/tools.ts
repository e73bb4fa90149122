/**
 * The tools of the MCP server. Each one is a request of the client, so the scopes of the key decide what it may do. A result is the JSON
 * of the API. Tools that change something exist only with `--allow-writes`.
 */
import type { CallToolResult, McpServer, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { CallOptions, StepwellClient } from '../../client/index.ts';
import type { JsonValue } from '../../engine/json.ts';
import { runStatuses } from '../../engine/log/head.ts';
import { readExplanation } from '../actions/explain.ts';
import { describeError } from '../describe-error.ts';
import * as parts from '../parse-command-line.ts';

export interface ToolContext {
  readonly client: StepwellClient;
  /** milliseconds since the epoch */
  readonly now: () => number;
}

interface ToolDefinition<Shape extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Shape;
  /** `read`: changes nothing; `write`: starts something new; `destructive`: ends or changes something that exists */
  readonly effect: 'read' | 'write' | 'destructive';
  readonly call: (context: ToolContext, input: z.output<Shape>, options: CallOptions) => Promise<object>;
}

/** Adds the tool to a server. */
export type RegisterTool = (server: McpServer, context: ToolContext) => void;

const defineTool =
  <Shape extends z.ZodObject>({ name, title, description, input, effect, call }: ToolDefinition<Shape>): RegisterTool =>
  (server, context) => {
    const annotations = { readOnlyHint: effect === 'read', destructiveHint: effect === 'destructive', openWorldHint: false };
    // The SDK validates and passes unknown input; the schema gives it its type.
    const inputSchema: StandardSchemaWithJSON<unknown, unknown> = input;
    server.registerTool(name, { title, description, inputSchema, annotations }, async (given, { mcpReq: { signal } }) =>
      resultOf(() => call(context, input.parse(given), { signal })),
    );
  };

/** A refusal of the API is a result with `isError`, so that the agent reads its code and what to do next. */
async function resultOf(call: () => Promise<object>): Promise<CallToolResult> {
  try {
    return { content: [{ type: 'text', text: JSON.stringify(await call(), null, 2) }] };
  } catch (error) {
    return { isError: true, content: [{ type: 'text', text: JSON.stringify(describeError(error).error, null, 2) }] };
  }
}

const json = z.json().transform((value): JsonValue => value);
const runId = parts.runId.describe('the id of the run: wrun_ and 26 characters');
const anyRunId = parts.anyRunId.describe(
  'the id of the run: wrun_ and 26 characters, or the UUID of a run of the package openworkflow',
);
const limit = z.int().min(1).max(100).default(25).describe('maximum number of rows');
const cursor = z.string().exactOptional().describe('the cursor of the previous page');
/** The API validates the definition and reports each finding with a JSON pointer. */
const definition = z
  .looseObject({ nodes: z.array(z.looseObject({})), edges: z.array(z.looseObject({})) })
  .describe('a graph workflow: { nodes, edges, options? }, see docs/NODES.md');

const readTools = [
  defineTool({
    name: 'list_runs',
    title: 'List runs',
    description: 'Lists runs, newest first, with their status and, for failed ones, the error. Use explain_run for the reason.',
    input: z.strictObject({
      status: z.enum(runStatuses).exactOptional(),
      workflowName: parts.workflowName.exactOptional(),
      includeChildren: z.boolean().default(false).describe('include runs that another run called'),
      limit,
      cursor,
    }),
    effect: 'read',
    call: ({ client }, { includeChildren, ...query }, options) =>
      client.listRuns({ ...query, ...(includeChildren && { includeChildren: 'true' as const }) }, options),
  }),
  defineTool({
    name: 'get_run',
    title: 'Get a run',
    description: 'Returns a run with its nodes, input, output and error.',
    input: z.strictObject({ runId: anyRunId }),
    effect: 'read',
    call: ({ client }, { runId: id }, options) => client.getRun(id, { resolveData: 'all' }, options),
  }),
  defineTool({
    name: 'explain_run',
    title: 'Explain a run',
    description:
      'Explains why a run waits, for what and until when, or why it ended: for a failed run the root cause, also in called runs and loops.',
    input: z.strictObject({ runId: anyRunId }),
    effect: 'read',
    call: ({ client, now }, { runId: id }, options) => readExplanation(client, id, now(), options),
  }),
  defineTool({
    name: 'list_run_events',
    title: 'List the events of a run',
    description: 'Lists the events of a run, in order: starts, attempts, retries, failures, waits.',
    input: z.strictObject({
      runId: anyRunId,
      after: z.string().exactOptional().describe('the cursor of the previous page'),
      limit: z.int().min(1).max(1_000).default(200),
    }),
    effect: 'read',
    call: ({ client }, { runId: id, ...query }, options) => client.listRunEvents(id, query, options),
  }),
  defineTool({
    name: 'list_workflows',
    title: 'List workflows',
    description: 'Lists the published graph workflows. Code workflows are in list_apps.',
    input: z.strictObject({ limit, cursor }),
    effect: 'read',
    call: ({ client }, query, options) => client.listWorkflows(query, options),
  }),
  defineTool({
    name: 'list_apps',
    title: 'List apps of code',
    description: 'Lists the apps of code workflows with their active deployments and the names of their workflows.',
    input: z.strictObject({}),
    effect: 'read',
    call: ({ client }, _input, options) => client.listApps(options),
  }),
  defineTool({
    name: 'get_workflow',
    title: 'Get a workflow',
    description: 'Returns a published graph workflow with its definition.',
    input: z.strictObject({ name: parts.workflowName }),
    effect: 'read',
    call: ({ client }, { name }, options) => client.getWorkflow(name, {}, options),
  }),
  defineTool({
    name: 'get_catalogue',
    title: 'Get the catalogue',
    description:
      'Returns the names of the secrets, models and databases that workflows of the project can use. No value is returned.',
    input: z.strictObject({}),
    effect: 'read',
    call: ({ client }, _input, options) => client.getCatalogue(options),
  }),
  defineTool({
    name: 'validate_workflow',
    title: 'Validate a workflow',
    description:
      'Validates a graph workflow without publishing it. Each finding has a JSON pointer and a message. Nothing is stored.',
    input: z.strictObject({ definition }),
    effect: 'read',
    call: ({ client }, input, options) => client.validateWorkflow(bodyOf(input.definition), options),
  }),
] as const;

const writeTools = [
  defineTool({
    name: 'test_workflow',
    title: 'Test a workflow',
    description:
      'Runs a graph workflow that is not published, waits for its end, returns the ended run and deletes its data. Nodes without a pinned output execute: HTTP requests are sent.',
    input: z.strictObject({
      definition,
      input: json.exactOptional().describe('the input of the run'),
      pinned: z
        .record(z.string(), z.strictObject({ output: json }))
        .default({})
        .describe('outputs by node id; such a node does not execute'),
    }),
    effect: 'write',
    call: async ({ client }, { definition: graph, input, pinned }, options) => {
      const body = { ...graph, pinned, ...(input !== undefined && { input }) };
      const { runId: id } = await client.testWorkflow(bodyOf(body), options);
      try {
        return await client.result(id, options);
      } finally {
        // An aborted request deletes the run too, so its signal is not passed on.
        await client.stopTestRun(id);
      }
    },
  }),
  defineTool({
    name: 'start_run',
    title: 'Start a run',
    description: 'Starts a run of a workflow and returns its id. It does not wait for the end: use get_run or explain_run.',
    input: z.strictObject({
      workflowName: parts.workflowName,
      input: json.exactOptional(),
      version: z.int().min(1).exactOptional().describe('the version of a graph to start; default: the latest'),
      idempotencyKey: parts.idempotencyKey.exactOptional().describe('the same key starts the same run'),
    }),
    effect: 'write',
    call: ({ client }, { idempotencyKey, ...body }, options) =>
      client.trigger(body, idempotencyKey === undefined ? options : { ...options, idempotencyKey }),
  }),
  defineTool({
    name: 'rerun_run',
    title: 'Rerun a run',
    description:
      'Reruns a run as a new run, from its start or from a node or step. With fromNode the earlier results are kept. A code run can replace kept results.',
    input: z.strictObject({
      runId,
      fromNode: z.string().min(1).exactOptional().describe('the node id, or for a code run the key of a step'),
      results: z
        .record(z.string(), json)
        .exactOptional()
        .describe('code runs, with fromNode: values in place of the results of kept steps, by key'),
      version: z.int().min(1).exactOptional().describe('graph runs: the version of the workflow to use; default: the same'),
      deploymentId: parts.deploymentId.exactOptional().describe('code runs: the deployment to use; default: the same'),
      input: json.exactOptional(),
    }),
    effect: 'write',
    call: ({ client }, { runId: id, ...body }, options) => client.rerunRun(id, body, options),
  }),
  defineTool({
    name: 'cancel_run',
    title: 'Cancel a run',
    description: 'Cancels an open run. It cannot be continued afterwards.',
    input: z.strictObject({ runId, reason: z.string().min(1).max(1_024).exactOptional() }),
    effect: 'destructive',
    call: ({ client }, { runId: id, ...body }, options) => client.cancelRun(id, body, options),
  }),
] as const;

/** The tools of a server. */
export const toolsOf = ({ allowsWrites }: { readonly allowsWrites: boolean }): readonly RegisterTool[] =>
  allowsWrites ? [...readTools, ...writeTools] : readTools;

type DefinitionBody = Parameters<StepwellClient['testWorkflow']>[0];
/** The schema has checked that it is an object with nodes and edges; the API validates the rest. */
const bodyOf = (body: object): DefinitionBody => parts.asBody<DefinitionBody>(body);
