/** `list`, `get`, `publish` and `archive` for what is published in versions: workflows, lenses and queries. */
import * as z from 'zod';
import type { createLensBody } from '../../api/schemas/lenses.ts';
import type { createQueryBody } from '../../api/schemas/queries.ts';
import type { createWorkflowBody } from '../../api/schemas/workflows.ts';
import { type Action, usageError } from '../command.ts';
import { formatTable, quantity } from '../format.ts';
import { listOptions, moreRowsHint, readRows } from '../pages.ts';
import {
  file,
  integerBetween,
  lensName,
  omitUndefined,
  parseArgument,
  parseOptions,
  queryName,
  readBodyFile,
  workflowName,
} from '../parse-command-line.ts';
import { ComputeClientError } from '../../client/errors.ts';
import type { StepwellClient } from '../../client/index.ts';

interface CallOptions {
  readonly signal: AbortSignal;
}
interface VersionsPage<Row> {
  readonly data: readonly Row[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
}

/** A row of a list. */
interface Row {
  readonly name: string;
  readonly kind?: string;
  readonly latestVersion: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly archivedAt?: string;
}

interface ResourceCalls<Body, Published> {
  readonly create: (body: Body & { readonly name: string }, callOptions: CallOptions) => Promise<Published>;
  readonly publish: (name: string, body: Body, callOptions: CallOptions) => Promise<Published>;
  readonly list: (
    query: { limit: number; cursor?: string; archived: 'true' | 'false'; prefix?: string },
    callOptions: CallOptions,
  ) => Promise<VersionsPage<Row>>;
  readonly archive: (name: string, callOptions: CallOptions) => Promise<{ readonly archivedAt: string }>;
}

export interface VersionedResource<Body, Published> {
  readonly noun: string;
  readonly name: z.ZodType<string>;
  /** the error code for a name that has a version already */
  readonly existsCode: string;
  readonly callsOf: (client: StepwellClient) => ResourceCalls<Body, Published>;
  /** lines that are printed after a publication, besides its version number */
  readonly notes: (published: Published) => readonly string[];
}

export type PublishedVersion = { readonly name: string; readonly version: number; readonly unarchived?: true };
type PublishedVersionWithWarnings = PublishedVersion & { readonly warnings: Parameters<typeof formatFindings>[0] };
export type WorkflowBody = Omit<z.input<typeof createWorkflowBody>, 'name'>;
type LensBody = Omit<z.input<typeof createLensBody>, 'name'>;
type QueryBody = Omit<z.input<typeof createQueryBody>, 'name'>;

export const workflows: VersionedResource<WorkflowBody, PublishedVersionWithWarnings> = {
  noun: 'workflow',
  name: workflowName,
  existsCode: 'workflow_exists',
  callsOf: (client) => ({
    create: (body, callOptions) => client.createWorkflow(body, callOptions),
    publish: (name, body, callOptions) => client.publishVersion(name, body, callOptions),
    list: (query, callOptions) => client.listWorkflows(query, callOptions),
    archive: (name, callOptions) => client.archiveWorkflow(name, callOptions),
  }),
  notes: ({ warnings }) => formatFindings(warnings),
};

export const lenses: VersionedResource<LensBody, PublishedVersion> = {
  noun: 'lens',
  name: lensName,
  existsCode: 'lens_exists',
  callsOf: (client) => client.lenses,
  notes: () => [],
};

export const queries: VersionedResource<QueryBody, PublishedVersionWithWarnings> = {
  noun: 'query',
  name: queryName,
  existsCode: 'query_exists',
  callsOf: (client) => client.queries,
  notes: ({ warnings }) => formatFindings(warnings),
};

const listOptionsSchema = z.object({
  ...listOptions,
  archived: z.boolean().default(false),
  prefix: z.string().min(1).optional(),
});

const createListAction =
  <Body, Published>({ noun, callsOf }: VersionedResource<Body, Published>): Action =>
  async (commandLine, context) => {
    const options = parseOptions(commandLine, listOptionsSchema);
    const resourceCalls = callsOf(await context.client());
    const filters = {
      archived: options.archived ? ('true' as const) : ('false' as const),
      ...omitUndefined({ prefix: options.prefix }),
    };
    const found = await readRows(options, (page) => resourceCalls.list({ ...page, ...filters }, { signal: context.signal }));
    const hasKinds = found.items.some(({ kind }) => kind !== undefined);
    const rows = found.items.map((each) => [
      each.name,
      ...(hasKinds ? [each.kind ?? ''] : []),
      String(each.latestVersion),
      each.createdAt,
      each.updatedAt,
      each.archivedAt ?? '',
    ]);
    const headers = [
      'name',
      ...(hasKinds ? ['kind'] : []),
      'latest',
      'created',
      'updated',
      ...(options.archived ? ['archived'] : []),
    ];
    const text =
      rows.length === 0 ? `No ${noun} matches.` : [formatTable(context, headers, rows), ...moreRowsHint(found)].join('\n');
    return { data: found, text };
  };

export const listWorkflows = createListAction(workflows);
export const listLenses = createListAction(lenses);
export const listQueries = createListAction(queries);

const showOptions = z.object({ versionNumber: integerBetween(1, Number.MAX_SAFE_INTEGER).optional() });

interface ShownVersion {
  readonly name: string;
  readonly version: number;
  readonly createdAt: string;
  readonly archivedAt?: string;
  readonly deletion?: DeletionProgress;
}
type Get<ShownResponse> = (
  client: StepwellClient,
  name: string,
  query: { version?: number },
  callOptions: { readonly signal: AbortSignal },
) => Promise<ShownResponse>;

const createShowAction =
  <ShownResponse extends ShownVersion>(
    { name: nameSchema }: Pick<VersionedResource<never, never>, 'name'>,
    get: Get<ShownResponse>,
    toPublishable: (response: ShownResponse) => object,
  ): Action =>
  async (commandLine, context) => {
    const requested = parseArgument(commandLine, 0, 'name', nameSchema);
    const { versionNumber } = parseOptions(commandLine, showOptions);
    const client = await context.client();
    const response = await get(client, requested, omitUndefined({ version: versionNumber }), { signal: context.signal });
    const { name, version, createdAt, archivedAt, deletion } = response;
    const archived = archivedAt === undefined ? '' : `, archived ${archivedAt}`;
    const deleting = deletion === undefined ? '' : `, being deleted: ${formatDeletionProgress(deletion)}`;
    context.log(`${name}@${version}, created ${createdAt}${archived}${deleting}`);
    return { data: response, text: JSON.stringify(toPublishable(response), null, 2) };
  };

export const showWorkflow = createShowAction(
  workflows,
  (client, ...requested) => client.getWorkflow(...requested),
  ({ name, nodes, edges, options }) => ({ name, nodes, edges, options }),
);
export const showLens = createShowAction(
  lenses,
  (client, ...requested) => client.lenses.get(...requested),
  ({ name, kind, template, description, input, output, model, params }) => ({
    name,
    kind,
    template,
    description,
    input,
    output,
    model,
    params,
  }),
);
export const showQuery = createShowAction(
  queries,
  (client, ...requested) => client.queries.get(...requested),
  ({ query }) => query,
);

const createPublishAction =
  <Body extends object, Published extends PublishedVersion>({
    noun,
    name: nameSchema,
    existsCode,
    callsOf,
    notes,
  }: VersionedResource<Body, Published>): Action =>
  async (commandLine, context) => {
    const path = parseArgument(commandLine, 0, 'file', file);
    const body = readBodyFile<Body & { readonly name?: unknown }>(context.cwd, path);
    const parsed = nameSchema.safeParse(body.name);
    if (!parsed.success) throw usageError(`${path}: "name" ${parsed.error.issues[0]?.message ?? 'is invalid'}.`);
    const name = parsed.data;
    const resourceCalls = callsOf(await context.client());
    const { signal } = context;
    const published = await resourceCalls.create({ ...body, name }, { signal }).catch((error: unknown) => {
      if (error instanceof ComputeClientError && error.code === existsCode) return resourceCalls.publish(name, body, { signal });
      throw error;
    });
    for (const line of notes(published)) context.log(line);
    if (published.unarchived === true) context.log(`The ${noun} ${name} was archived; publishing this version unarchived it.`);
    return { data: published, text: `${published.name}@${published.version}` };
  };

const publishOptions = z.object({
  note: z.string().optional(),
  basedOn: integerBetween(1, Number.MAX_SAFE_INTEGER).optional(),
});

/** With `--based-on` the workflow exists, so the first version is not tried. */
export const publishWorkflow: Action = (commandLine, context) => {
  const { note, basedOn } = omitUndefined(parseOptions(commandLine, publishOptions));
  const more = omitUndefined({ note, basedOn });
  const publishing = {
    ...workflows,
    callsOf: (client: StepwellClient) => ({
      ...workflows.callsOf(client),
      create: (body: WorkflowBody & { readonly name: string }, callOptions: CallOptions) =>
        basedOn === undefined
          ? client.createWorkflow({ ...body, ...omitUndefined({ note }) }, callOptions)
          : client.publishVersion(body.name, { ...body, ...more }, callOptions),
      publish: (name: string, body: WorkflowBody, callOptions: CallOptions) =>
        client.publishVersion(name, { ...body, ...more }, callOptions),
    }),
  };
  return createPublishAction(publishing)(commandLine, context);
};
export const publishLens = createPublishAction(lenses);
export const publishQuery = createPublishAction(queries);

const createArchiveAction =
  <Body, Published>({ name: nameSchema, callsOf }: VersionedResource<Body, Published>): Action =>
  async (commandLine, context) => {
    const name = parseArgument(commandLine, 0, 'name', nameSchema);
    const archived = await callsOf(await context.client()).archive(name, { signal: context.signal });
    return { data: archived, text: `${name} is archived since ${archived.archivedAt}.` };
  };

export const archiveWorkflow = createArchiveAction(workflows);
export const archiveLens = createArchiveAction(lenses);
export const archiveQuery = createArchiveAction(queries);

export type DeletionProgress = Awaited<ReturnType<StepwellClient['deleteWorkflow']>>['deletion'];

export const formatDeletionProgress = ({ state, runsFound, runsDeleted }: DeletionProgress): string =>
  state === 'finding_runs'
    ? `${quantity(runsFound, 'run')} found so far`
    : `${runsDeleted} of ${quantity(runsFound, 'run')} deleted`;

interface Finding {
  readonly severity: string;
  readonly code: string;
  readonly pointer: string;
  readonly message: string;
}

/** One line for each finding, with its JSON pointer. */
export const formatFindings = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ severity, pointer, code, message }) => `${severity}  ${pointer}  ${message} (${code})`);
