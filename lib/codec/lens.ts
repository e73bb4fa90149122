/** A lens version as it is stored. The HTTP API has its own schemas, which explain more. */
import * as z from 'zod';
import {
  type FieldContract,
  type FieldSchema,
  type LensVersion,
  type OutputContract,
  type SchemaContract,
  fieldTypes,
  lensKinds,
} from '../ports/lenses.ts';
import { jsonObject } from './events.ts';
import { exactly } from './exact.ts';
import { lensName } from './ids.ts';

const fieldType = z.enum(fieldTypes);
const field = exactly<FieldSchema>()(
  z.strictObject({
    type: fieldType,
    required: z.boolean().exactOptional(),
    description: z.string().exactOptional(),
    minLength: z.number().exactOptional(),
    maxLength: z.number().exactOptional(),
    pattern: z.string().exactOptional(),
    min: z.number().exactOptional(),
    max: z.number().exactOptional(),
    itemType: fieldType.exactOptional(),
    enum: z.array(z.string()).readonly().exactOptional(),
  }),
);
const fields = { fields: z.record(z.string(), field) };
const schema = { jsonSchema: jsonObject };
const artifactKind = { artifactKind: z.string().exactOptional() };

const input = z.union([
  exactly<FieldContract>()(
    z.strictObject({
      ...fields,
      requireAnyOf: z.array(z.array(z.string()).readonly()).readonly().exactOptional(),
      strict: z.boolean().exactOptional(),
    }),
  ),
  exactly<SchemaContract>()(z.strictObject(schema)),
]);
const output = z.union([
  exactly<Extract<OutputContract, { fields: unknown }>>()(z.strictObject({ ...fields, ...artifactKind })),
  exactly<Extract<OutputContract, { jsonSchema: unknown }>>()(z.strictObject({ ...schema, ...artifactKind })),
]);

export const lensVersion: z.ZodType<LensVersion> = exactly<LensVersion>()(
  z.strictObject({
    name: lensName,
    version: z.int().min(1),
    kind: z.enum(lensKinds),
    template: z.string(),
    description: z.string().exactOptional(),
    input: input.exactOptional(),
    output: output.exactOptional(),
    model: z.string().exactOptional(),
    params: jsonObject.exactOptional(),
  }),
);
