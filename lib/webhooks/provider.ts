/** The setting `webhooks`: the providers, their signature schemes and their targets. Parsed at synthesis and by the function. */
import * as z from 'zod';
import { secretArnPattern, secretArnMessage } from '../contract/secret-arn.ts';
import { invalidHeaderReason } from '../engine/header-name.ts';
import * as ids from '../engine/ids.ts';
import { maxSignalTextLength } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';

const providerPattern = /^[a-z0-9][a-z0-9-]{0,63}$/;

const secretArn = z.string().regex(secretArnPattern, secretArnMessage);

const header = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header')
  // A header that the infrastructure sets or removes proves nothing. As a delivery id it would make all deliveries one.
  .refine((name) => invalidHeaderReason(name) === undefined, 'must not be a header that the HTTP client or the gateway sets')
  .transform((name) => name.toLowerCase());

const pointer = z.string().regex(/^(\/([^/~]|~[01])*){1,20}$/, 'must be a JSON pointer into the body, such as /data/id');

const startTarget = z.strictObject({
  workflowName: z.string().regex(ids.workflowNamePattern).transform(ids.workflowName),
});
const resumeTarget = z.strictObject({
  resume: z.strictObject({ runIdPath: pointer }),
});
const signalTarget = z.strictObject({
  signal: z.strictObject({ name: z.string().min(1).max(maxSignalTextLength), correlationPath: pointer }),
});

const target = z.union([startTarget, resumeTarget, signalTarget], {
  error: 'must be { "workflowName": … }, { "resume": { "runIdPath": … } } or { "signal": { "name": …, "correlationPath": … } }',
});

const common = {
  secretArn,
  projectId: z.string().regex(ids.projectIdPattern).transform(ids.projectId),
  environment: z.string().regex(ids.environmentPattern).transform(ids.environment),
  target,
};

/** In both directions. Less than ten seconds would refuse senders whose clocks are correct. */
export const toleranceLimits = { min: 10, standard: 300, max: 3_600 } as const;
const toleranceSeconds = z.int().min(toleranceLimits.min).max(toleranceLimits.max).default(toleranceLimits.standard);

const provider = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('standard-webhooks'), ...common, toleranceSeconds }),
  z.strictObject({ scheme: z.literal('stripe'), ...common, toleranceSeconds }),
  z.strictObject({ scheme: z.literal('github'), ...common }),
  z.strictObject({
    scheme: z.literal('hmac-sha256'),
    ...common,
    header,
    encoding: z.enum(['hex', 'base64']),
    prefix: z.string().max(50).default(''),
    idHeader: header.exactOptional(),
  }),
]);

export type WebhookProvider = z.output<typeof provider>;

export const webhookProviders = z.record(z.string().regex(providerPattern), provider);
export type WebhookProviders = z.output<typeof webhookProviders>;

/** The signing secrets in a stored text: one text, or several during a rotation, as a JSON list. Empty if the text contains none. */
export function secretsIn(text: string): readonly string[] {
  const trimmed = text.trim();
  const list = trimmed.startsWith('[') ? listIn(trimmed) : undefined;
  return (list ?? [trimmed]).filter((secret) => secret !== '');
}

function listIn(text: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The value at a JSON pointer (RFC 6901); undefined if there is none. */
export function valueAt(value: JsonValue, pointer: string): JsonValue | undefined {
  const steps = pointer.split('/').slice(1);
  let found: JsonValue | undefined = value;
  for (const step of steps) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Object.entries(found).find(([name]) => name === key)?.[1];
  }
  return found;
}
