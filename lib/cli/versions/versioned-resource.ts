/** What is published under a name, in versions: which calls of the client are about it, and how it is told. */
import type * as z from 'zod';
import type { createLensBody } from '../../api/schemas/lenses.ts';
import type { createQueryBody } from '../../api/schemas/queries.ts';
import type { createWorkflowBody } from '../../api/schemas/workflows.ts';
import type { StepwellClient } from '../../client/index.ts';
import { lensName, queryName, workflowName } from '../parse-command-line.ts';
import { formatFindings } from './format-findings.ts';

interface CallOptions {
  readonly signal: AbortSignal;
}
interface Page<Row> {
  readonly data: readonly Row[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
}

/** As a list shows it. */
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
    query: { limit: number; cursor?: string; archived: 'true' | 'false' },
    callOptions: CallOptions,
  ) => Promise<Page<Row>>;
  readonly archive: (name: string, callOptions: CallOptions) => Promise<{ readonly archivedAt: string }>;
}

export interface VersionedResource<Body, Published> {
  readonly noun: string;
  readonly name: z.ZodType<string>;
  /** the service's word for a name that has a version already */
  readonly existsCode: string;
  readonly callsOf: (client: StepwellClient) => ResourceCalls<Body, Published>;
  /** what is to be known of a publication besides its number */
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
