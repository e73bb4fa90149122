/** Workflows, lenses and queries as published versions in the control table. */
import type { Makers } from '../base/lazy.ts';
import type { Resources } from './resources.ts';
import { DynamoDeletions } from './deletions.ts';
import * as z from 'zod';
import { workflowVersion } from '../codec/definition.ts';
import { lensName, queryName, workflowName } from '../codec/ids.ts';
import { lensVersion } from '../codec/lens.ts';
import { queryKind, queryVersion } from '../codec/query.ts';
import type { Lenses, Queries, Workflows, DefinitionPorts } from '../ports/versions.ts';
import { text, textAttribute } from './item-schema.ts';
import type { Table } from './table.ts';
import { DynamoVersions } from './versions.ts';

const noFacts = { schema: z.object({}), attributes: () => ({}) };

export const dynamoWorkflows = (table: Table): Workflows =>
  new DynamoVersions(table, {
    what: 'a workflow',
    partitions: { summaries: 'workflows', versions: 'workflow' },
    content: { attribute: 'definition', schema: workflowVersion },
    name: workflowName,
    facts: noFacts,
  });

export const dynamoLenses = (table: Table): Lenses =>
  new DynamoVersions(table, {
    what: 'a lens',
    partitions: { summaries: 'lenses', versions: 'lens' },
    content: { attribute: 'lens', schema: lensVersion },
    name: lensName,
    facts: noFacts,
  });

export const dynamoQueries = (table: Table): Queries =>
  new DynamoVersions(table, {
    what: 'a query',
    partitions: { summaries: 'queries', versions: 'query' },
    content: { attribute: 'definition', schema: queryVersion },
    name: queryName,
    facts: { schema: z.object({ kind: textAttribute.pipe(queryKind) }), attributes: ({ kind }) => ({ kind: text(kind) }) },
  });

export const definitionPorts = (resources: Resources): Makers<DefinitionPorts> => ({
  workflows: () => dynamoWorkflows(resources.control),
  lenses: () => dynamoLenses(resources.control),
  queries: () => dynamoQueries(resources.control),
  deletions: () => new DynamoDeletions(resources.control),
});
