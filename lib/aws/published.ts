/** Workflows, lenses and queries as published versions in the control table. */
import type { Makers } from '../base/lazy.ts';
import { workflowVersion } from '../codec/definition.ts';
import { lensName, queryName, workflowName } from '../codec/ids.ts';
import { lensVersion } from '../codec/lens.ts';
import { queryKind, queryVersion } from '../codec/query.ts';
import type { Lenses, Queries, Workflows, DefinitionPorts } from '../ports/versions.ts';
import { DynamoDeletions } from './deletions.ts';
import { DynamoDrafts } from './drafts.ts';
import { stringOf, partSchema, jsonOf, named, keyPart, itemSchema } from './item-schema.ts';
import type { Resources } from './resources.ts';
import type { Table } from './table.ts';
import { DynamoVersions, summaryAttributes, versionAttributes } from './versions.ts';

const noFacts = partSchema('a summary', {});

export const dynamoWorkflows = (table: Table): Workflows =>
  new DynamoVersions(table, {
    partitions: { summaries: 'workflows', versions: 'workflow' },
    version: itemSchema('a workflow version', { content: named('definition', jsonOf(workflowVersion)), ...versionAttributes }),
    summary: itemSchema('a workflow', { name: keyPart('sk', workflowName), ...summaryAttributes }),
    facts: noFacts,
  });

export const dynamoLenses = (table: Table): Lenses =>
  new DynamoVersions(table, {
    partitions: { summaries: 'lenses', versions: 'lens' },
    version: itemSchema('a lens version', { content: named('lens', jsonOf(lensVersion)), ...versionAttributes }),
    summary: itemSchema('a lens', { name: keyPart('sk', lensName), ...summaryAttributes }),
    facts: noFacts,
  });

const queryFacts = { kind: stringOf(queryKind) };

export const dynamoQueries = (table: Table): Queries =>
  new DynamoVersions(table, {
    partitions: { summaries: 'queries', versions: 'query' },
    version: itemSchema('a query version', { content: named('definition', jsonOf(queryVersion)), ...versionAttributes }),
    summary: itemSchema('a query', { name: keyPart('sk', queryName), ...queryFacts, ...summaryAttributes }),
    facts: partSchema('a query', queryFacts),
  });

export const definitionPorts = (resources: Resources): Makers<DefinitionPorts> => ({
  workflows: () => dynamoWorkflows(resources.control),
  lenses: () => dynamoLenses(resources.control),
  queries: () => dynamoQueries(resources.control),
  deletions: () => new DynamoDeletions(resources.control),
  drafts: () => new DynamoDrafts(resources.control),
});
