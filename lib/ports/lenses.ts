/** Lenses: versioned prompt templates with their contracts. Versions are immutable and numbered from 1. A lens is archived, never deleted. */
import type { LensName } from '../engine/ids.ts';
import type { JsonObject } from '../engine/json.ts';

/** The purposes of lenses, as the lens reference document lists them. */
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

/**
 * Constraints of one value. `min` and `max` apply to numbers, the lengths (in characters) to strings. It is a type alias,
 * because an interface is not assignable to `JsonObject`.
 */
export type FieldSchema = {
  readonly type: FieldType;
  readonly required?: boolean;
  readonly description?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly min?: number;
  readonly max?: number;
  /** the type of an array's items */
  readonly itemType?: FieldType;
  /** compared with the value converted to a string */
  readonly enum?: readonly string[];
};

export type Fields = Readonly<Record<string, FieldSchema>>;

export type FieldContract = {
  readonly fields: Fields;
  /** at least one field of each group must be present */
  readonly requireAnyOf?: readonly (readonly string[])[];
  /** refuses undeclared fields */
  readonly strict?: boolean;
};
export type SchemaContract = {
  /** JSON Schema 2020-12 without external references */
  readonly jsonSchema: JsonObject;
};
export type InputContract = FieldContract | SchemaContract;
/** The contract of the model's response: its `data` as fields or a schema, and the kind of artifact. */
export type OutputContract = (Pick<FieldContract, 'fields'> | SchemaContract) & { readonly artifactKind?: string };

export interface Lens {
  readonly name: LensName;
  readonly kind: LensKind;
  readonly template: string;
  readonly description?: string;
  readonly input?: InputContract;
  readonly output?: OutputContract;
  /** the configured model, if the node names none */
  readonly model?: string;
  /** parameters for the model's provider; the node's parameters override them key by key */
  readonly params?: JsonObject;
}

export interface LensVersion extends Lens {
  readonly version: number;
}
