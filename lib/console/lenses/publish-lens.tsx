/** Publishes a lens: the first version of a name, or the next one. */
import type { ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { type JsonObject, type JsonValue, isJsonObject } from '../../engine/json.ts';
import { type Lens, api } from '../api.ts';
import { type PublishField, PublishForm } from '../primitives/publish-form.tsx';
import { go } from '../router.tsx';

const name: PublishField = { key: 'name', label: 'Name', kind: 'text', isRequired: true };
const fields: readonly PublishField[] = [
  { key: 'description', label: 'Description', kind: 'text' },
  { key: 'template', label: 'Template', kind: 'lines', isRequired: true, help: 'Greet [[name]] in a [[tone!]] tone.' },
  { key: 'model', label: 'Model', kind: 'text' },
  { key: 'input', label: 'Contract of the input, as JSON', kind: 'json', help: '{"fields": {"name": {"type": "string"}}}' },
  { key: 'output', label: 'Contract of the output, as JSON', kind: 'json' },
  { key: 'params', label: 'Parameters of the model, as JSON', kind: 'json' },
];

interface PublishLensProps {
  /** the version that the next one begins as; undefined: a new name */
  readonly lens?: Lens;
  readonly onClose: () => void;
}

export function PublishLens({ lens, onClose }: PublishLensProps): ReactNode {
  const queries = useQueryClient();
  const publish = async (body: JsonObject): Promise<void> => {
    const published = await (lens === undefined
      ? api.createLens(body)
      : api.publishLens(lens.name, { kind: lens.kind, ...body }));
    await queries.invalidateQueries({ queryKey: ['lenses'] });
    go(`/lenses/${encodeURIComponent(published.name)}`);
  };
  return (
    <PublishForm
      title={lens === undefined ? 'New lens' : `Publish v${lens.latestVersion + 1} of ${lens.name}`}
      fields={lens === undefined ? [name, ...fields] : fields}
      first={lens === undefined ? {} : firstOf(lens)}
      loadCheck={async () => {
        const { checkLens } = await import('./check-lens.ts');
        return (body) => checkLens(lens === undefined ? body : { kind: lens.kind, ...body }, lens?.name);
      }}
      onPublish={publish}
      onClose={onClose}
    />
  );
}

/** A response is JSON. */
const firstOf = (lens: Lens): JsonObject => {
  const { description, template, model, input, output, params } = lens;
  const value: JsonValue = JSON.parse(JSON.stringify({ description, template, model, input, output, params }));
  return isJsonObject(value) ? value : {};
};
