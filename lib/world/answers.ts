/** Parses the answers that the World itself reads. All others pass to the SDK as they are. */
import * as z from 'zod';
import type { TaggedValue } from './tagged-json.ts';
import type { WorldMethod } from './calls.ts';
import { unreadableAnswer } from './errors.ts';

const bytes = z.instanceof(Uint8Array);

/** A writer may write text. Readers get bytes. */
const chunk = z.union([bytes, z.string().transform((text): Uint8Array => new TextEncoder().encode(text))]);

const chunksAnswer = z.object({
  data: z.array(z.object({ index: z.int().min(0), data: chunk })),
  cursor: z.string().nullable(),
  hasMore: z.boolean(),
  done: z.boolean(),
});

const infoAnswer = z.object({ tailIndex: z.int().min(-1), done: z.boolean() });

const publishAnswer = z.object({ messageId: z.string().nullable() });
const deploymentAnswer = z.object({ deploymentId: z.string() });
const keyAnswer = z.object({ key: bytes.nullable() });
const namesAnswer = z.array(z.string());

const uploadAnswer = z.object({
  upload: z.object({ method: z.string(), url: z.string(), headers: z.record(z.string(), z.string()) }),
});

const registrationAnswer = z.object({ deploymentId: z.string(), secret: z.string().min(16) });
export type Registration = z.infer<typeof registrationAnswer>;

const parser =
  <Schema extends z.ZodType>(method: WorldMethod, schema: Schema) =>
  (value: TaggedValue): z.infer<Schema> => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    throw unreadableAnswer(method, `is not readable: /${issue?.path.join('/') ?? ''}: ${issue?.message ?? 'unknown'}`);
  };

/** @throws WorldError */
export const parseAnswer = {
  chunks: parser('streams.chunks', chunksAnswer),
  info: parser('streams.info', infoAnswer),
  names: parser('streams.list', namesAnswer),
  published: parser('queue.publish', publishAnswer),
  deployment: parser('deploymentId', deploymentAnswer),
  key: parser('encryptionKey', keyAnswer),
  upload: parser('uploads.create', uploadAnswer),
  registration: parser('apps.register', registrationAnswer),
} as const;

const errorBody = z.object({
  code: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
  required: z.string().optional().catch(undefined),
  recovery: z.string().optional().catch(undefined),
  errors: z
    .array(z.object({ pointer: z.string(), message: z.string() }))
    .optional()
    .catch(undefined),
  retryAfter: z.number().min(0).optional().catch(undefined),
});
export type ErrorBody = z.infer<typeof errorBody>;

/** Gateways and proxies answer errors in shapes of their own, so every field can be absent. */
export const parseErrorBody = (value: unknown): ErrorBody => errorBody.catch({}).parse(value);
