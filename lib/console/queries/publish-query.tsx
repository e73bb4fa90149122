/** Publishes a stored query: the first version of a name, or the next one. */
import type { ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import type { JsonObject } from '../../engine/json.ts';
import { type StoredQuery, api } from '../api.ts';
import { type PublishField, PublishForm } from '../primitives/publish-form.tsx';
import { go } from '../router.tsx';

const name: PublishField = { key: 'name', label: 'Name', kind: 'text', isRequired: true };
const fields: readonly PublishField[] = [
  { key: 'kind', label: 'Kind', kind: 'choice', options: ['postgres', 'aurora', 'http'] },
  { key: 'description', label: 'Description', kind: 'text' },
  { key: 'connection', label: 'Connection: the name of a secret or database, or a base address', kind: 'text', isRequired: true },
  { key: 'statement', label: 'Statement, in SQL with :name', kind: 'lines' },
  { key: 'request', label: 'Request of the kind http, as JSON', kind: 'json', help: '{"path": "/orders/:id"}' },
  { key: 'parameters', label: 'Parameters, as JSON', kind: 'json', help: '[{"name": "id", "type": "string", "required": true}]' },
  { key: 'readOnly', label: 'It changes no data', kind: 'check' },
];

interface PublishQueryProps {
  /** the version that the next one begins as; undefined: a new name */
  readonly query?: StoredQuery;
  readonly onClose: () => void;
}

export function PublishQuery({ query, onClose }: PublishQueryProps): ReactNode {
  const queries = useQueryClient();
  // What the form does not show stays as it is.
  const { name: _name, kind: _kind, ...kept } = query?.query ?? {};
  const others = Object.entries(kept).filter(([key]) => !fields.some((field) => field.key === key));
  const publish = async (body: JsonObject): Promise<void> => {
    const published = await (query === undefined
      ? api.createQuery(body)
      : api.publishQuery(query.name, { ...Object.fromEntries(others), ...body }));
    await queries.invalidateQueries({ queryKey: ['queries'] });
    go(`/queries/${encodeURIComponent(published.name)}`);
  };
  return (
    <PublishForm
      title={query === undefined ? 'New query' : `Publish v${query.latestVersion + 1} of ${query.name}`}
      fields={query === undefined ? [name, ...fields] : fields}
      first={query === undefined ? { kind: 'postgres', readOnly: true } : { readOnly: true, ...query.query, kind: query.kind }}
      loadCheck={async () => {
        const { checkQuery } = await import('./check-query.ts');
        return (body) => checkQuery({ ...Object.fromEntries(others), ...body }, query?.name);
      }}
      onPublish={publish}
      onClose={onClose}
    />
  );
}
