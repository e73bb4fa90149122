/** The service's OpenAPI document, from which the fuzz test generates requests. */
import * as z from 'zod';

/** The part of JSON Schema that the generator uses. */
export interface Schema {
  readonly $ref?: string | undefined;
  readonly type?: string | readonly string[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[] | undefined;
  readonly oneOf?: readonly Schema[] | undefined;
  readonly allOf?: readonly Schema[] | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: Schema | undefined;
  readonly pattern?: string | undefined;
  readonly format?: string | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
}

const schema: z.ZodType<Schema> = z.lazy(() =>
  z.looseObject({
    $ref: z.string().optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    enum: z.array(z.unknown()).optional(),
    anyOf: z.array(schema).optional(),
    oneOf: z.array(schema).optional(),
    allOf: z.array(schema).optional(),
    properties: z.record(z.string(), schema).optional(),
    required: z.array(z.string()).optional(),
    // Only responses have tuples, which take no item beyond their own.
    items: z.union([schema, z.literal(false).transform(() => undefined)]).optional(),
    pattern: z.string().optional(),
    format: z.string().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    minItems: z.number().optional(),
    maxItems: z.number().optional(),
  }),
);

const parameter = z.looseObject({
  in: z.enum(['path', 'query', 'header']),
  name: z.string(),
  schema,
  required: z.boolean().default(false),
});
const operation = z.looseObject({
  operationId: z.string(),
  parameters: z.array(parameter).default([]),
  requestBody: z
    .looseObject({ required: z.boolean().default(false), content: z.record(z.string(), z.looseObject({ schema })) })
    .optional(),
});
const document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({ schemas: z.record(z.string(), schema) }),
});

export interface Operation extends z.infer<typeof operation> {
  readonly method: string;
  readonly path: string;
}

export interface ApiDocument {
  readonly operations: readonly Operation[];
  /** the resolved schema of a reference */
  resolve(schema: Schema): Schema;
}

/** An application answers what is below; no table of routes declares its answers (test/devkit/webhooks.deep.test.ts). */
const ofApplications = '/devkit/';

export const readDocument = (value: unknown): ApiDocument => {
  const { paths, components } = document.parse(value);
  return {
    operations: Object.entries(paths)
      .filter(([path]) => !path.startsWith(ofApplications))
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, described]) => ({ ...described, method: method.toUpperCase(), path })),
      ),
    resolve(given) {
      if (given.$ref === undefined) return given;
      const found = components.schemas[given.$ref.slice(given.$ref.lastIndexOf('/') + 1)];
      if (found === undefined) throw new Error(`the document does not contain ${given.$ref}`);
      return found;
    },
  };
};
