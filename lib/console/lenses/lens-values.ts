/** The values of a lens as a person types them, by label, and the prompt that they make, by the renderer of the server. */
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from '../../engine/json.ts';
import { labelKey, parseTemplate } from '../../lens/placeholders.ts';
import { type Rendered, byKey, render } from '../../lens/render.ts';
import type { Lens } from '../api.ts';

/** The node's own limit: see docs/LENSES.md. */
const maxPromptLength = 524_288;

export interface LensField {
  readonly label: string;
  readonly isRequired: boolean;
  /** of the contract; undefined: a text */
  readonly type: string | undefined;
  readonly description: string | undefined;
}

/** Labels of the template first, then those that only the contract knows. Labels are compared without case and spaces. */
export function fieldsOf({ placeholders, input }: Pick<Lens, 'placeholders' | 'input'>): readonly LensField[] {
  const contract = contractFields(input);
  const inTemplate = new Map(placeholders.map((placeholder) => [labelKey(placeholder.label), placeholder] as const));
  const labels = new Map([
    ...placeholders.map(({ label }) => [labelKey(label), label] as const),
    ...[...contract].map(([key, { label }]) => [key, label] as const),
  ]);
  return [...labels].map(([key, label]) => {
    const declared = contract.get(key);
    const placeholder = inTemplate.get(key);
    const isRequired = declared?.isRequired ?? (placeholder !== undefined && !placeholder.optional);
    return { label, isRequired, type: declared?.type, description: declared?.description };
  });
}

const text = (value: JsonValue | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

/** The fields of a contract of either form, by the key of their label. */
function contractFields(input: JsonObject | undefined): ReadonlyMap<string, LensField> {
  const schema = input?.['jsonSchema'];
  const fields = isJsonObject(schema) ? schema['properties'] : input?.['fields'];
  const required = isJsonObject(schema) && isJsonArray(schema['required']) ? schema['required'] : [];
  if (!isJsonObject(fields)) return new Map();
  return new Map(
    Object.entries(fields).map(([label, field]) => {
      const declared: JsonObject = isJsonObject(field) ? field : {};
      const isRequired = declared['required'] === true || required.includes(label);
      return [
        labelKey(label),
        { label, isRequired, type: text(declared['type']), description: text(declared['description']) },
      ] as const;
    }),
  );
}

const textTypes: readonly (string | undefined)[] = [undefined, 'string', 'url'];

/** An empty field is no value. Text that is not JSON stays text, so that the contract says what is wrong with it. */
export function valuesOf(fields: readonly LensField[], typed: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(
    fields.flatMap(({ label, type }): [string, JsonValue][] => {
      const value = typed[label] ?? '';
      if (value === '') return [];
      return [[label, textTypes.includes(type) ? value : jsonOrText(value)]];
    }),
  );
}

function jsonOrText(value: string): JsonValue {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** As the node renders it: a label of `fields` that is not required may be absent; with a JSON schema only `!` allows that. */
export function promptOf({ template, input }: Pick<Lens, 'template' | 'input'>, values: JsonObject): Rendered {
  const declared = input?.['jsonSchema'] === undefined ? contractFields(input) : new Map<string, LensField>();
  const isOptional = (key: string): boolean => declared.get(key)?.isRequired === false;
  return render(parseTemplate(template).parts, byKey(values), isOptional, maxPromptLength);
}
