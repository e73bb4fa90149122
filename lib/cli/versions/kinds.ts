/** What is published under a name, in versions: which calls of the client are about it, and how it is told. */
import type * as z from 'zod';
import type { createLensBody } from '../../api/schemas/lenses.ts';
import type { createQueryBody } from '../../api/schemas/queries.ts';
import type { createWorkflowBody } from '../../api/schemas/workflows.ts';
import type { StepwellClient } from '../../client/index.ts';
import { lensName, queryName, workflowName } from '../given.ts';
import { findingLines } from './finding-lines.ts';

interface Calling {
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

interface Calls<Body, Published> {
  readonly create: (body: Body & { readonly name: string }, calling: Calling) => Promise<Published>;
  readonly publish: (name: string, body: Body, calling: Calling) => Promise<Published>;
  readonly list: (query: { limit: number; cursor?: string; archived: 'true' | 'false' }, calling: Calling) => Promise<Page<Row>>;
  readonly archive: (name: string, calling: Calling) => Promise<{ readonly archivedAt: string }>;
}

export interface Kind<Body, Published> {
  readonly noun: string;
  readonly name: z.ZodType<string>;
  /** the service's word for a name that has a version already */
  readonly existsCode: string;
  readonly calls: (client: StepwellClient) => Calls<Body, Published>;
  /** what is to be known of a publication besides its number */
  readonly notes: (published: Published) => readonly string[];
}

export type Named = { readonly name: string; readonly version: number; readonly unarchived?: true };
type Warned = Named & { readonly warnings: Parameters<typeof findingLines>[0] };
export type WorkflowBody = Omit<z.input<typeof createWorkflowBody>, 'name'>;
type LensBody = Omit<z.input<typeof createLensBody>, 'name'>;
type QueryBody = Omit<z.input<typeof createQueryBody>, 'name'>;

export const workflows: Kind<WorkflowBody, Warned> = {
  noun: 'workflow',
  name: workflowName,
  existsCode: 'workflow_exists',
  calls: (client) => ({
    create: (body, calling) => client.createWorkflow(body, calling),
    publish: (name, body, calling) => client.publishVersion(name, body, calling),
    list: (query, calling) => client.listWorkflows(query, calling),
    archive: (name, calling) => client.archiveWorkflow(name, calling),
  }),
  notes: ({ warnings }) => findingLines(warnings),
};

export const lenses: Kind<LensBody, Named> = {
  noun: 'lens',
  name: lensName,
  existsCode: 'lens_exists',
  calls: (client) => client.lenses,
  notes: () => [],
};

export const queries: Kind<QueryBody, Warned> = {
  noun: 'query',
  name: queryName,
  existsCode: 'query_exists',
  calls: (client) => client.queries,
  notes: ({ warnings }) => findingLines(warnings),
};
