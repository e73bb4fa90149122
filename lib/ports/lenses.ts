/** Lenses: versioned prompt templates with their contracts. A version is immutable, numbered from 1, archived but never lost. */
import type { LensName } from '../engine/ids.ts';
import type { JsonObject } from '../engine/json.ts';

/** What a lens is for. The lens document's list. */
export const lensKinds = [
  'text',
  'image',
  'video',
  'audio',
  'music',
  'research',
  'pdf',
  'transform',
  'orchestration',
  'validation',
  'routing',
] as const;
export type LensKind = (typeof lensKinds)[number];

export const fieldTypes = ['string', 'number', 'integer', 'boolean', 'url', 'json', 'array', 'any'] as const;
export type FieldType = (typeof fieldTypes)[number];

/** What one value may be. `min` and `max` are of numbers, the lengths of texts, in characters. A type, because it is JSON too. */
export type FieldSchema = {
  readonly type: FieldType;
  readonly required?: boolean;
  readonly description?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly min?: number;
  readonly max?: number;
  /** of an array's items */
  readonly itemType?: FieldType;
  /** compared with the value as text */
  readonly enum?: readonly string[];
};

export type Fields = Readonly<Record<string, FieldSchema>>;

export type FieldContract = {
  readonly fields: Fields;
  /** of each group, at least one is there */
  readonly requireAnyOf?: readonly (readonly string[])[];
  /** nothing that is not declared */
  readonly strict?: boolean;
};
export type SchemaContract = {
  /** JSON Schema 2020-12, without references to anything outside itself */
  readonly jsonSchema: JsonObject;
};
export type InputContract = FieldContract | SchemaContract;
/** What the model's answer must be: its `data` by fields, or by a schema; the media it comes as. */
export type OutputContract = (Pick<FieldContract, 'fields'> | SchemaContract) & { readonly artifactKind?: string };

export interface Lens {
  readonly name: LensName;
  readonly kind: LensKind;
  readonly template: string;
  readonly description?: string;
  readonly input?: InputContract;
  readonly output?: OutputContract;
  /** the configured model that runs it where the node names none */
  readonly model?: string;
  /** handed to the model's provider; the node's own win, key by key */
  readonly params?: JsonObject;
}

export interface LensVersion extends Lens {
  readonly version: number;
}
