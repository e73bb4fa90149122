/**
 * Schemas of the settings `models` and `moderation`, parsed at synthesis and again by the function. The settings contain ARNs of
 * secrets, not secrets. Nodes and lenses refer to a model by its key; `default` is used if they name none.
 */
import * as z from 'zod';
import { secretArnPattern, secretArnMessage } from '../contract/secret-arn.ts';

const secretArn = z.string().regex(secretArnPattern, secretArnMessage);
/** Hosts that can be private destinations: an address, this machine, or a name that the public internet does not have. */
const canBePrivate = (host: string): boolean =>
  /^[\d.]+$|^\[/.test(host) || /\.(internal|local|localhost|lan)$/.test(host) || !host.includes('.');

/** http is accepted for private destinations only. The request checks the address again. */
const serviceUrl = z
  .url({ protocol: /^https?$/, error: 'must be a complete https URL, or http for a private destination' })
  .max(500)
  .refine((text) => !/[?#@]/.test(text), 'must not contain a query, a fragment or a user')
  .refine(
    (text) => URL.parse(text)?.protocol !== 'http:' || canBePrivate(URL.parse(text)?.hostname ?? ''),
    'must be a complete https URL: only a private destination may use http',
  );

const modelArn = z
  .string()
  .regex(
    /^arn:aws[a-z-]*:bedrock:[a-z0-9-]*:(\d{12})?:(foundation-model|inference-profile|application-inference-profile|provisioned-model|custom-model-deployment|imported-model)\/[\w.:/-]+$/,
    'must be the full ARN of a model or of an inference profile',
  );

const guardrailArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:bedrock:[a-z0-9-]+:\d{12}:guardrail\/[a-z0-9]+$/, 'must be the full ARN of a guardrail');

const model = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('deterministic') }),
  z
    .strictObject({
      provider: z.literal('openai'),
      /** base URL; the adapter appends `/chat/completions` */
      baseUrl: serviceUrl,
      model: z.string().min(1).max(200),
      /** one key for all projects */
      secretArn: secretArn.exactOptional(),
      /** or a secret per project, from the setting `secrets`; a project without this secret cannot use the model */
      apiKey: z
        .string()
        .regex(/^\{\{secret:[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\}\}$/, 'must be {{secret:name}}')
        .exactOptional(),
    })
    .refine(
      ({ secretArn: shared, apiKey }) => shared === undefined || apiKey === undefined,
      'may have only one of secretArn and apiKey',
    ),
  z.strictObject({
    provider: z.literal('bedrock'),
    /** id of a model, or ARN of an inference profile */
    modelId: z.string().min(1).max(300),
    /** ARNs that the worker may invoke; a profile needs its own ARN and its models' ARNs in all regions */
    modelArns: z.array(modelArn).min(1).max(10),
  }),
]);

export const modelSetting = z.record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be the name of a model'), model);
export type ConfiguredModel = z.output<typeof model>;
export type ModelSetting = z.output<typeof modelSetting>;

export const moderationSetting = z.discriminatedUnion('provider', [
  /** no moderation: a node that requests it fails */
  z.strictObject({ provider: z.literal('none') }),
  /** blocks texts that contain one of the words; for tests and first steps */
  z.strictObject({ provider: z.literal('deterministic'), words: z.array(z.string().min(1).max(100)).max(50) }),
  z.strictObject({ provider: z.literal('http'), url: serviceUrl, secretArn: secretArn.exactOptional() }),
  z.strictObject({
    provider: z.literal('bedrock-guardrail'),
    guardrailArn,
    version: z.string().regex(/^(\d{1,8}|DRAFT)$/, 'must be a number or DRAFT'),
  }),
]);
export type ModerationSetting = z.output<typeof moderationSetting>;

/** The secret's name in an `apiKey`. */
export const secretNamedBy = (apiKey: string): string => apiKey.slice('{{secret:'.length, -'}}'.length);

/** The ARNs of secrets in the settings. */
export const secretsNamed = (models: ModelSetting, moderation: ModerationSetting): readonly string[] => [
  ...Object.values(models).flatMap((each) => ('secretArn' in each && each.secretArn !== undefined ? [each.secretArn] : [])),
  ...('secretArn' in moderation && moderation.secretArn !== undefined ? [moderation.secretArn] : []),
];

export const modelArnsNamed = (models: ModelSetting): readonly string[] => [
  ...new Set(Object.values(models).flatMap((each) => (each.provider === 'bedrock' ? each.modelArns : []))),
];
