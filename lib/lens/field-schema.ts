/** Converts field schemas of the lens document to JSON Schema. */
import { defined } from '../base/defined.ts';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { FieldSchema, FieldType, Fields } from '../ports/lenses.ts';

/** `isUrl` and `isJson` are custom keywords, because JSON Schema 2020-12 does not assert formats. */
const schemaOfType: Readonly<Record<FieldType, JsonObject>> = {
  string: { type: 'string' },
  number: { type: 'number' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  url: { type: 'string', isUrl: true },
  json: { isJson: true },
  array: { type: 'array' },
  any: {},
};

const copiedKeywords = ['minLength', 'maxLength', 'pattern'] as const;

export const schemaOfField = (field: FieldSchema): JsonObject => ({
  ...schemaOfType[field.type],
  ...Object.fromEntries(
    copiedKeywords.flatMap((key): [string, JsonValue][] => (field[key] === undefined ? [] : [[key, field[key]]])),
  ),
  ...(field.min === undefined ? {} : { minimum: field.min }),
  ...(field.max === undefined ? {} : { maximum: field.max }),
  ...(field.itemType === undefined ? {} : { items: schemaOfType[field.itemType] }),
  ...(field.enum === undefined ? {} : { enum: field.enum.flatMap(scalarsOf) }),
});

/** The scalars that have this text form. */
const scalarsOf = (text: string): readonly JsonValue[] => {
  if (text === 'true' || text === 'false') return [text, text === 'true'];
  const number = Number(text);
  return text !== '' && String(number) === text && Number.isFinite(number) ? [text, number] : [text];
};

export const schemaOfFields = (fields: Fields, isStrict: boolean): JsonObject =>
  defined({
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOfField(field)])),
    required: Object.entries(fields).flatMap(([name, { required }]) => (required === true ? [name] : [])),
    additionalProperties: isStrict ? false : undefined,
  });
