/** Schemas for lenses. They check the form; the service validates templates and contracts. */
import * as z from 'zod';
import * as ids from '../../engine/ids.ts';
import { fieldTypes, lensKinds } from '../../ports/lenses.ts';
import { jsonObject, page } from './parts.ts';
import { publishedFields, summaryFields } from './versions.ts';

const lensName = z
  .string()
  .regex(ids.lensNamePattern, `must be a lens name: ${ids.lensNamePattern.source}`)
  .transform(ids.lensName);

const label = z.string().min(1).max(128);
const fieldType = z.enum(fieldTypes);
const field = z
  .strictObject({
    type: fieldType,
    required: z.boolean().exactOptional(),
    description: z.string().max(1_024).exactOptional(),
    minLength: z.int().min(0).exactOptional(),
    maxLength: z.int().min(0).exactOptional(),
    pattern: z.string().max(1_000).exactOptional(),
    min: z.number().exactOptional(),
    max: z.number().exactOptional(),
    itemType: fieldType.exactOptional(),
    enum: z.array(z.string().max(1_024)).min(1).max(500).exactOptional(),
  })
  .meta({ id: 'LensField' });

const fields = { fields: z.record(label, field) };
const schema = { jsonSchema: jsonObject.meta({ description: 'JSON Schema 2020-12 without external references' }) };
const artifactKind = { artifactKind: z.enum(['text', 'json', 'image', 'video', 'audio', 'pdf']).exactOptional() };

const input = z.union([
  z.strictObject({
    ...fields,
    requireAnyOf: z.array(z.array(label).min(1).max(50)).max(50).exactOptional(),
    strict: z.boolean().exactOptional(),
  }),
  z.strictObject(schema),
]);
const output = z.union([z.strictObject({ ...fields, ...artifactKind }), z.strictObject({ ...schema, ...artifactKind })]);

/** in characters */
export const maxTemplateLength = 131_072;

const lens = {
  kind: z.enum(lensKinds).default('text'),
  template: z.string().min(1).max(maxTemplateLength),
  description: z.string().max(4_096).exactOptional(),
  input: input.exactOptional(),
  output: output.exactOptional(),
  model: z.string().min(1).max(64).exactOptional().meta({ description: 'a configured model; absent: the model named default' }),
  params: jsonObject.exactOptional().meta({ description: "for the model's provider, such as temperature and maxTokens" }),
};

export const createLensBody = z.strictObject({ name: lensName, ...lens }).meta({ id: 'CreateLens' });
/** The name is optional, so that one document works for create and publish; it must equal the name in the path. */
export const publishLensBody = z.strictObject({ name: lensName.exactOptional(), ...lens }).meta({ id: 'PublishLens' });

export const lensParams = z.strictObject({ name: lensName });
const placeholders = z.array(z.strictObject({ label: z.string(), optional: z.boolean() })).readonly();

export const publishedLensResponse = z.strictObject({
  ...publishedFields,
  placeholders: placeholders.meta({ description: 'the placeholders of the template' }),
});
export const lensList = page(z.strictObject(summaryFields).meta({ id: 'LensSummary' }));

export const lensResponse = z
  .strictObject({
    ...summaryFields,
    version: z.int(),
    kind: z.enum(lensKinds),
    template: z.string(),
    placeholders,
    description: z.string().exactOptional(),
    input: jsonObject.exactOptional(),
    output: jsonObject.exactOptional(),
    model: z.string().exactOptional(),
    params: jsonObject.exactOptional(),
  })
  .meta({ id: 'Lens' });
